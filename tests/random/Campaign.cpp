// SPDX-License-Identifier: Apache-2.0
#include "tests/random/Campaign.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <ranges>
#include <thread>

#include "fattn/Error.h"
#include "tests/generator/Text.h"
#include "tests/random/Serve.h"
#include "tests/support/Context.h"

namespace fattn::random {
namespace {

constexpr int kStages = 4, kSchedules = 4;
constexpr std::array kWarps = {1, 2, 4, 8};

/// Each program of a folder with every number of stages, numbers of warps and the best schedules.
std::vector<Request> requestsOfFolder(const CampaignOptions& options) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(options.programs)) throw Error(ErrorCode::InvalidArgument, "'" + options.programs + "' is no folder");
  for (const auto& entry : std::filesystem::directory_iterator(options.programs))
    if (entry.path().extension() == ".mlir") files.push_back(entry.path());
  if (files.empty()) throw Error(ErrorCode::InvalidArgument, "there is no .mlir file in '" + options.programs + "'");
  std::ranges::sort(files);
  std::vector<Request> requests;
  auto context = test::makeContext();
  for (const auto& file : files) {
    std::ifstream stream(file);
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    Request request{
        .draw = hasDraw(text) ? generator::parse(*context, text).draw : generator::Draw(), .text = text, .source = file.filename()};
    for (const std::string& target : options.targets)
      for (int stages = 1; stages <= kStages; ++stages)
        for (int warps : kWarps)
          for (int schedule = 0; schedule < kSchedules; ++schedule) {
            request.draw.target = target;
            request.draw.stages = stages;
            request.draw.warps = warps;
            request.draw.schedule = schedule;
            requests.push_back(request);
          }
  }
  return requests;
}

std::vector<Request> requestsOf(const CampaignOptions& options) {
  if (!options.programs.empty()) return requestsOfFolder(options);
  if (!options.only.empty()) return {{.draw = generator::Draw::parse(options.only)}};
  std::vector<Request> requests;
  for (uint64_t i = 0; i < options.draws; ++i) requests.push_back({.draw = generator::draw(options.seed + i, options.targets)});
  return requests;
}

std::vector<Result> runInProcess(const CampaignOptions& options, const std::vector<Request>& requests,
                                 const std::function<void(const Result& result)>& done) {
  Execution execution(openDevice(options.device), Placing::Apart, [](std::string_view) {});
  std::vector<Result> results;
  const auto begin = std::chrono::steady_clock::now();
  for (const Request& request : requests) {
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (options.totalSeconds > 0 && took.count() >= options.totalSeconds) break;
    Result result{.draw = request.draw, .source = request.source};
    result.outcome = execution.run(result.draw, programOf(request));
    done(result);
    results.push_back(std::move(result));
    if (results.back().outcome.verdict == Verdict::Crashed) break;  // nothing runs in this process any more
  }
  return results;
}

}  // namespace

CampaignOptions completed(CampaignOptions options) {
  Device& device = openDevice(options.device);
  options.device = device.name();
  if (options.targets.empty()) options.targets = {device.chip()};
  if (options.processes == 0) options.processes = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return options;
}

WorkerOptions workerOptions(const CampaignOptions& options, int processes) {
  std::vector<std::string> command = options.self;
  command.insert(command.end(), {"--worker", "--device", options.device});
  return {
      .command = std::move(command), .processes = processes, .limitSeconds = options.limitSeconds, .totalSeconds = options.totalSeconds};
}

Result resultOf(const generator::Draw& draw, const Reply& reply) {
  if (reply.kind == Reply::Kind::Answered) return resultOf(reply.text);
  return {draw, {reply.kind == Reply::Kind::Died ? Verdict::Crashed : Verdict::TimedOut, reply.text}};
}

std::vector<Result> runDraws(const CampaignOptions& options, const std::function<void(const Result& result)>& done) {
  std::vector<Request> requests = requestsOf(options);
  if (options.inProcess) return runInProcess(options, requests, done);
  std::vector<std::string> lines;
  for (const Request& request : requests) lines.push_back(toLine(request));
  std::map<std::size_t, Result> results;
  Workers workers(workerOptions(options, options.processes));
  workers.run(lines, [&](std::size_t i, const Reply& reply) {
    Result& result = results[i] = resultOf(requests[i].draw, reply);
    result.source = requests[i].source;
    done(result);
  });
  const auto values = std::views::values(results);
  return {values.begin(), values.end()};
}

}  // namespace fattn::random
