import { expect, it } from "vitest";
import { parseSource } from "../src/source.ts";

const context = { root: "/p", home: "/h", githubUrl: "https://github.com", grammar: "a source" };

it.each([
  ["./a", { kind: "path", path: "/p/a" }],
  ["../a.zip", { kind: "path", path: "/a.zip" }],
  ["~/a", { kind: "path", path: "/h/a" }],
  ["file:///a%20b", { kind: "path", path: "/a b" }],
  [" /a ", { kind: "path", path: "/a" }],
  ["gh:o/r@v1#x/y", { kind: "git", url: "https://github.com/o/r.git", ref: "v1", path: "x/y" }],
  ["git+https://h/r#x", { kind: "git", url: "https://h/r", ref: null, path: "x" }],
  ["https://github.com/o/r.git", { kind: "git", url: "https://github.com/o/r.git", ref: null, path: null }],
  ["https://github.com/o/r/archive/main.zip", { kind: "url" }],
  ["https://h/x", { kind: "url" }],
  ["pdf", { kind: "registry", owner: null, slug: "pdf", version: null }],
  ["clawhub:@alice/pdf@1.0.0", { kind: "registry", owner: "alice", slug: "pdf", version: "1.0.0" }],
  ["bundled:memory-system", { kind: "bundled", name: "memory-system" }],
])("%j", (text, source) => {
  expect(parseSource(text, context)).toMatchObject({ text: text.trim(), ...source });
});

it.each([
  ["", /is not a source to install from/, "expected a source"],
  ["ftp://x/y", /is a URL/, "expected a source"],
  ["bundled:../x", /is not a source to install from/, "expected a source"],
  ["gh:o", /not gh:owner\/repo/, "expected a source"],
  ["git+https://u:p@h/r", /user name or password/, "expected a source"],
  ["https://github.com/o/r", /is a URL/, "write gh:o/r"],
  ["git@github.com:o/r.git", /is a URL/, "write gh:o/r"],
  ["ssh://git@h.example/o/r.git", /is a URL/, "write git+https://h.example/o/r.git"],
  ["https://h/x.tar.gz?y=1", /not a ZIP archive/, expect.stringContaining("unpack it")],
])("refuses %j", (text, message, hint) => {
  const error = (() => {
    try {
      return parseSource(text, context);
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(error).toMatchObject({ code: "invalid", message: expect.stringMatching(message), hint });
});
