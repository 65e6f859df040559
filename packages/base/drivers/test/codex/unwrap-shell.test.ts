/** What a command runs is read exactly as Codex quoted it: gates judge this text. */
import { expect, test } from "vitest";
import { unwrapShell } from "../../src/codex/unwrap-shell.ts";

// The left side was reported by Codex 0.166 for the right side.
test.each([
  ["/bin/bash -lc ls", "ls"],
  ["/bin/bash -lc 'cat a.txt'", "cat a.txt"],
  [`/bin/bash -lc 'echo "a$HOME"'`, 'echo "a$HOME"'],
  [`/bin/bash -lc "printf 'it'\\\\''s' | cat"`, `printf 'it'\\''s' | cat`],
  [`/bin/sh -c "echo 'x' \\"a\\\\\\"b"'$HOME"'`, `echo 'x' "a\\"b$HOME"`],
  ["/usr/bin/zsh -lc 'a\nb'", "a\nb"],
  ["/bin/bash -lc ''", ""],
])("%s", (command, script) => {
  expect(unwrapShell(command)).toBe(script);
});

test.each(["make", "/bin/bash -lc 'open", "/bin/bash -lc a b", "/bin/bash script.sh", ""])("%j stays", (command) => {
  expect(unwrapShell(command)).toBe(command);
});
