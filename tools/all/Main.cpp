// SPDX-License-Identifier: Apache-2.0
// fattn: a door to the programs of the package, which are in its library.
extern "C" int fattn_programs_main(int argc, char** argv);

int main(int argc, char** argv) { return fattn_programs_main(argc, argv); }
