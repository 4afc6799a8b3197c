# SPDX-License-Identifier: Apache-2.0
"""fattn-dump --html in a headless Chromium: it opens without an error and without the network, within a second; a click on a line
highlights the lines it came from and became; search finds; light and dark. `page-test.py FATTN-DUMP [SCREENSHOTS]`."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import devtools  # noqa: E402

DUMP = sys.argv[1]
SCREENSHOTS = sys.argv[2] if len(sys.argv) > 2 else None
ARGUMENTS = ["--target", "host:avx2", "--head-dim", "64", "--causal"]
GPU = ["--target", "nvidia:sm_90", "--head-dim", "64", "--causal"]


def dump(*arguments, kernel=ARGUMENTS):
    return subprocess.run([DUMP, *kernel, *arguments], check=True, capture_output=True, text=True).stdout


def milliseconds_to_ready(browser, file):
    """The least of a few loads: others may use the machine, too."""
    least = 1e9
    for _ in range(5):
        browser.open("file://" + file)
        least = min(least, int(browser.evaluate("document.documentElement.dataset.ready")))
        if least < 1000:
            break
    return least


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = os.path.join(cls.folder.name, "index.html")
        dump("--html", "-o", cls.folder.name)
        cls.browser = devtools.Browser(devtools.find())

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def setUp(self):
        self.browser.open("file://" + self.file)

    def tearDown(self):
        self.assertEqual(self.browser.errors(), [])

    def rows(self, stage, css=".row"):
        """The texts of the rows of a pane that are drawn."""
        return self.browser.evaluate(
            f"[...document.querySelectorAll('.pane[data-stage=\"{stage}\"] {css}')].map(r => r.lastChild ? r.textContent.replace(/^\\d+/, '') : '')")

    def line_of(self, stage, text):
        return self.browser.evaluate(f"data.stages.find(s => s.name === '{stage}').lines.findIndex(l => l.includes({text!r}))")

    def click_line(self, stage, text):
        """Scrolls a pane to the line that holds `text` and clicks on it with the mouse."""
        line = self.line_of(stage, text)
        self.assertGreaterEqual(line, 0, text)
        place = self.browser.evaluate(f"""(() => {{
            const pane = state.panes.find(p => p.stage.name === '{stage}');
            pane.scrollTo({line});
            const box = pane.element.querySelector('.row[data-line="{line}"]').getBoundingClientRect();
            return [pane.element.getBoundingClientRect().left + 120, box.top + 9];
        }})()""")
        self.browser.click(*place)

    def pinned(self, stage):
        """Every pinned line of a stage, drawn or not, as the page has computed them."""
        return self.browser.evaluate(f"(() => {{ const p = state.panes.find(p => p.stage.name === '{stage}'); return p.marked.map(i => p.stage.lines[i]); }})()")

    def test_it_is_small_needs_no_network_and_is_ready_within_a_second(self):
        self.assertLess(os.path.getsize(self.file), 5_000_000)
        self.assertEqual([r for r in self.browser.requests() if not r.startswith(("file://" + self.file, "data:"))], [])
        ready = milliseconds_to_ready(self.browser, self.file)
        print(f"page: {os.path.getsize(self.file)} bytes, interactive after {ready} ms")
        self.assertLess(ready, 1000)
        with open(self.file, encoding="utf-8") as page:
            text = page.read()
        self.assertEqual(re.findall(r'(?:src|href)="(?!data:)[^"]*"', text), [])

    def test_a_click_on_the_source_highlights_what_it_became(self):
        self.click_line("dsl", "Tile products = dot(q, trans(load(advance(kPtr")
        tile = self.pinned("tile")
        self.assertTrue(any("tile.dot" in line for line in tile), tile)
        self.assertTrue(any("tile.trans" in line for line in tile), tile)
        self.assertFalse(any("tile.store" in line or "exp2" in line for line in tile), tile)
        self.assertEqual(sum("tile.dot" in line for line in tile), 1, "the other dot has another line")
        self.assertTrue(any("vfmadd" in line for line in self.pinned("host")))
        # What is computed is what is seen: the panes have scrolled to the first of them and drawn them in the colour.
        self.assertTrue(any("tile.dot" in row for row in self.rows("tile", ".row.pin")))
        self.assertTrue(self.rows("host", ".row.pin"))
        colours = self.browser.evaluate("['.row.pin', '.row:not(.pin)'].map(c => getComputedStyle(document.querySelector('.pane[data-stage=tile] ' + c)).backgroundColor)")
        self.assertNotEqual(*colours)
        if SCREENSHOTS:
            self.browser.screenshot(os.path.join(SCREENSHOTS, "click.png"))

    def test_a_click_on_machine_code_leads_back_to_its_source(self):
        line = self.browser.evaluate("(() => { const p = state.panes.find(p => p.stage.name === 'host'); return p.stage.lines.findIndex((l, i) => l.includes('vfmadd') && p.stage.setOf[i] >= 0 && p.stage.lines.indexOf(l) === i); })()")
        self.assertGreaterEqual(line, 0)
        source = self.browser.evaluate(f"data.sets[data.stages.find(s => s.name === 'host').setOf[{line}]][0]")
        self.click_line("host", self.browser.evaluate(f"data.stages.find(s => s.name === 'host').lines[{line}]"))
        # The pane has the lines of several files, each behind a heading: a line's place there is not its number.
        pinned = self.browser.evaluate("state.panes[0].marked.flatMap(i => data.sets[state.panes[0].stage.setOf[i]])")
        self.assertIn(source, pinned)

    def test_another_click_and_escape_unpin(self):
        self.click_line("dsl", "Tile v = load(advance(vPtr")
        self.assertTrue(self.pinned("tile"))
        self.browser.call("Input.dispatchKeyEvent", type="keyDown", key="Escape", code="Escape", windowsVirtualKeyCode=27)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.row.pin').length"), 0)

    def test_nothing_is_wider_than_a_narrow_screen(self):
        self.addCleanup(self.browser.call, "Emulation.clearDeviceMetricsOverride")
        for width in (480, 1280, 1920):
            self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            outside = self.browser.evaluate("""[...document.querySelectorAll('header *, #facts *, main, .pane, footer')]
                .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth || e.getBoundingClientRect().right > innerWidth)
                .filter(e => getComputedStyle(e).overflow !== 'hidden' || e.id === 'title').map(e => e.id || e.className)""")
            self.assertEqual(outside, [], width)

    def test_pointing_lights_lines_up(self):
        place = self.browser.evaluate("""(() => { const pane = document.querySelector('.pane[data-stage=tile]'), top = pane.querySelector('.view').getBoundingClientRect().top;
                                         const r = [...pane.querySelectorAll('.row.tied')].map(row => row.getBoundingClientRect()).find(row => row.top > top);
                                         return [r.left + 120, r.top + 9]; })()""")
        self.browser.move(*place)
        self.assertTrue(self.rows("tile", ".row.hit"))
        self.assertIn("AttentionForward.cpp:", self.browser.evaluate("document.getElementById('status').textContent"))

    def test_search_finds_in_every_stage(self):
        self.browser.evaluate("document.getElementById('query').focus()")
        self.browser.type("tile.dot")
        self.browser.evaluate("new Promise(r => setTimeout(r, 300))")
        expected = dump("--emit", "tile").count("tile.dot")
        self.assertEqual(self.browser.evaluate("data.stages.find(s => s.name === 'tile').matches"), expected)
        self.assertTrue(all("tile.dot" in row for row in self.rows("tile", ".row:has(mark)")))
        self.assertTrue(self.rows("tile", ".row:has(mark)"))

    def test_stages_are_what_the_tool_prints(self):
        page = self.browser.evaluate("data.stages.find(s => s.name === 'tile').lines.join('\\n') + '\\n'")
        self.assertEqual(page, dump("--emit", "tile"))

    def test_light_and_dark(self):
        seen = []
        for scheme in ("light", "dark"):
            self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            seen.append(self.browser.evaluate("['background-color', 'color'].map(p => getComputedStyle(document.body).getPropertyValue(p))"))
            if SCREENSHOTS:
                self.browser.screenshot(os.path.join(SCREENSHOTS, scheme + ".png"))
        self.assertNotEqual(seen[0][0], seen[1][0])
        self.assertNotEqual(seen[0][1], seen[1][1])
        self.browser.call("Emulation.setEmulatedMedia", features=[])


class GpuPage(unittest.TestCase):
    """A kernel for a GPU, which need not be here: down to PTX, and to SASS where NVIDIA's programs are."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = os.path.join(cls.folder.name, "index.html")
        dump("--html", "-o", cls.folder.name, kernel=GPU)
        cls.browser = devtools.Browser(devtools.find())
        cls.browser.open("file://" + cls.file)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def test_it_is_small_and_ready_within_a_second(self):
        ready = milliseconds_to_ready(self.browser, self.file)
        print(f"page of a GPU's kernel: {os.path.getsize(self.file)} bytes, interactive after {ready} ms")
        self.assertLess(os.path.getsize(self.file), 5_000_000)
        self.assertLess(ready, 1000)
        self.assertEqual(self.browser.errors(), [])

    def test_a_pass_shows_what_it_changed(self):
        self.browser.open("file://" + self.file)
        shown = self.browser.evaluate("""(() => {
            const pane = state.panes.find(p => p.stage.kind === 'mlir');
            pane.show(data.stages.findIndex(s => s.name === 'tilegpu-place-waits'));
            pane.toggle.click();
            const rows = [...pane.element.querySelectorAll('.row.cut, .row.new')].map(r => r.textContent);
            const { lines, fates } = pane.stage, of = fate => lines.filter((_, i) => fates[i] !== fate).join('\\n');
            return [pane.stage.added, pane.stage.removed, rows.length, of('cut') === data.stages[pane.index].lines.join('\\n'),
                    of('new') === pane.stage.from.lines.join('\\n'), location.hash];
        })()""")
        self.assertGreater(shown[0], 0)
        self.assertGreater(shown[2], 0, "the pane begins at the first change")
        self.assertTrue(shown[3], "without what was taken away it is the module behind the pass")
        self.assertTrue(shown[4], "without what was added it is the module before the pass")
        self.browser.open("about:blank")  # the address keeps what is open
        self.browser.open("file://" + self.file + shown[5])
        self.assertEqual(self.browser.evaluate("state.panes.find(p => p.changes).stage.name"), "tilegpu-place-waits")
        self.assertEqual(self.browser.errors(), [])

    def test_an_alias_of_a_layout_shows_its_picture(self):
        self.browser.open("file://" + self.file)
        place = self.browser.evaluate("""(() => {
            const pane = state.panes.find(p => p.stage.kind === 'mlir'), line = pane.stage.lines.findIndex(l => /= tile.*#regs/.test(l));
            pane.scrollTo(line);
            const row = pane.element.querySelector(`.row[data-line="${line}"]`);
            const alias = [...row.querySelectorAll('i.v')].find(i => i.textContent.startsWith('#regs') && pane.layoutAt(i));
            alias.scrollIntoView({inline: 'center', block: 'nearest'});
            const box = alias.getBoundingClientRect();
            return [box.left + 5, box.top + 5];
        })()""")
        self.browser.move(*place)
        self.assertRegex(self.browser.evaluate("document.querySelector('#layout:not([hidden]) b')?.textContent ?? ''"), "^registers: .* lanes")
        inside = self.browser.evaluate("(() => { const b = document.getElementById('layout').getBoundingClientRect(); return b.left >= 0 && b.top >= 0 && b.right <= innerWidth && b.bottom <= innerHeight; })()")
        self.assertTrue(inside)
        self.browser.move(5, 5)
        self.assertTrue(self.browser.evaluate("document.getElementById('layout').hidden"))

    def test_panes_begin_at_the_inner_loop_and_its_mix_is_counted(self):
        self.browser.open("file://" + self.file)
        self.assertIn("inner loop", self.browser.evaluate("document.querySelector('#mix summary').textContent"))
        rows = self.browser.evaluate("[...document.querySelectorAll('#mix tr th:first-child')].map(t => t.textContent)")
        self.assertIn("matrix unit", rows)
        ptx = self.browser.evaluate("(() => { const p = state.panes.find(p => p.stage.kind === 'ptx'); return [...p.element.querySelectorAll('.row')].map(r => r.textContent); })()")
        self.assertTrue(any(self.browser.evaluate("data.mix.loop") + ":" in row for row in ptx))

    def test_resources_stand_on_top(self):
        labels = self.browser.evaluate("[...document.querySelectorAll('.fact span')].map(f => f.textContent)")
        self.assertIn("shared memory", labels)
        self.assertIn("threads", labels)

    def test_lines_are_tied_from_the_source_to_the_machine_code(self):
        # Of a schedule only the nodes have a source; test_a_node_of_the_schedule_leads_to_its_lines looks at them.
        counts = self.browser.evaluate("""data.stages.filter(s => s.same === undefined && s.name !== 'dsl' && s.name !== 'schedule')
            .map(s => [s.title, s.lines.length, s.setOf.filter(set => set >= 0).length])""")
        self.assertTrue(any(title == "PTX" for title, _, _ in counts))
        for title, lines, tied in counts:
            self.assertGreater(tied, 0.75 * lines, f"{title}: {tied} of {lines} lines know their source")

    def test_a_node_of_the_schedule_leads_to_its_lines(self):
        self.assertTrue(self.browser.evaluate("!document.getElementById('chart').hidden"))
        place = self.browser.evaluate("""(() => {
            const dot = [...document.querySelectorAll('#chart .span')].find(g => data.charts[0].nodes[g.dataset.node].name === 'B');
            const box = dot.getBoundingClientRect();
            return [box.left + box.width / 2, box.top + box.height / 2];
        })()""")
        self.browser.click(*place)
        ptx = self.browser.evaluate("(() => { const s = data.stages.find(s => s.title === 'PTX'); return linesWith(s, setsOf(state.pinned)).map(i => s.lines[i]); })()")
        self.assertTrue(any("mma.sync" in line for line in ptx))
        self.assertTrue(self.browser.evaluate("document.querySelectorAll('#chart .span.lit').length") > 0)
        if SCREENSHOTS:
            self.browser.screenshot(os.path.join(SCREENSHOTS, "schedule.png"))


class MeasuredTimeline(unittest.TestCase):
    def test_stands_below_the_prediction(self):
        events = [[f"{what}", 1000 * trip + at] for trip in range(5)
                  for what, at in (("issue q*k", 100), ("begin wait q*k", 200), ("end wait q*k", 500))]
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace.json")
            with open(trace, "w") as file:
                json.dump({"kernel": "forward", "target": "nvidia:sm_90", "device": "a GPU", "launch": 1,
                           "roles": [{"name": "group 0", "full": False, "events": events}]}, file)
            dump("--html", "-o", folder, "--trace", trace, kernel=GPU)
            browser = devtools.Browser(devtools.find())
            try:
                browser.open("file://" + os.path.join(folder, "index.html"))
                titles = browser.evaluate("[...document.querySelectorAll('#chart h2')].map(h => h.textContent)")
                self.assertEqual(len(titles), 2)
                self.assertTrue(titles[0].startswith("Schedule "))
                self.assertRegex(titles[1], "^Measured .*kernel 'forward' .* 1000 cycles a trip")
                spans = browser.evaluate("[...document.querySelectorAll('#chart [data-chart=\"1\"]')].length")
                self.assertEqual(spans, len(browser.evaluate("data.charts[1].spans")))
                self.assertEqual(browser.errors(), [])
            finally:
                browser.close()


if __name__ == "__main__":
    if devtools.find() is None:
        print("skipped: no Chromium in PATH (Debian: apt-get install chromium)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
