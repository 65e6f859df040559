import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { anAsk } from "@aegis/test/helpers/asks.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { type Action, actionDigest, bounded } from "../../src/asks/action.ts";
import { askChanges } from "../../src/asks/permission.ts";

function action(more: Partial<Action> = {}): Action {
  const { session, kind, question, reason, gate, tool, detail, changes, cwd, options } = anAsk();
  return { session, kind, question, reason, gate, tool, detail, changes, cwd, options, ...more };
}

describe("the digest of an action", () => {
  const base = action({ detail: { command: "ls", cwd: "/p" } });

  it("does not depend on the order of keys", () => {
    const turned = { ...base, detail: { cwd: "/p", command: "ls" } };
    expect(actionDigest(turned, "dev")).toBe(actionDigest(base, "dev"));
    expect(actionDigest(base, "dev")).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each<[string, Partial<Action>]>([
    ["the session", { session: anAsk({ session: "ses_other" as Action["session"] }).session }],
    ["the kind", { kind: "question" }],
    ["the question", { question: "other?" }],
    ["the reason", { reason: "because" }],
    ["the gate", { gate: true }],
    ["the tool", { tool: "Other" }],
    ["the input", { detail: { command: "ls ", cwd: "/p" } }],
    ["a change", { changes: [{ path: "a", before: "", after: "x", patch: null, note: null }] }],
    ["the folder", { cwd: "/elsewhere" }],
    ["the choices", { options: ["allow"] }],
  ])("covers %s", (_what, change) => {
    expect(actionDigest({ ...base, ...change }, "dev")).not.toBe(actionDigest(base, "dev"));
  });

  it("covers the agent", () => {
    expect(actionDigest(base, "dev")).not.toBe(actionDigest(base, "other"));
  });
});

describe("what is kept of an action", () => {
  it("is all of it up to a limit that no command reaches", () => {
    const large = action({ detail: { command: "x".repeat(250_000) } });
    expect(bounded(large)).toEqual({ action: large, omitted: 0 });
  });

  it("says what is missing, how much, and its hash", () => {
    const { action: kept, omitted } = bounded(action({ detail: { command: "x".repeat(1_000_000), more: "y" } }));
    expect(omitted).toBe(1_000_000 - 64 * 1024);
    expect(kept.detail).toMatchObject({ more: "y" });
    expect(JSON.stringify(kept.detail)).toMatch(
      /… \[934464 more characters are not shown; SHA-256 of the whole text: [0-9a-f]{64}\]/,
    );
  });

  it("is the beginning where very much is small", () => {
    const { action: kept, omitted } = bounded(action({ detail: Array.from({ length: 400_000 }, () => "a") }));
    expect(JSON.stringify(kept).length).toBeLessThan(256 * 1024);
    expect(omitted).toBeGreaterThan(0);
  });
});

describe("what a file would lose", () => {
  it("is its present text; outside the project and behind links nothing is read", async () => {
    const [root, outside] = [await tempDir(), await tempDir()];
    await writeFile(join(root, "a.txt"), "present\n");
    await writeFile(join(root, "b.bin"), Buffer.from([1, 0, 2]));
    await writeFile(join(outside, "secret"), "secret");
    await symlink(join(outside, "secret"), join(root, "link"));
    const paths = ["a.txt", "new.txt", "b.bin", "link", "../../etc/passwd", "."];
    const found = await askChanges(
      paths.map((path) => ({ path, after: "x" })),
      root,
    );
    expect(found.map(({ before, note }) => before ?? note)).toEqual([
      "present\n",
      "a new file",
      "the current text is not shown: it is a binary file",
      "the current text is not shown: the file is outside the project",
      "the current text is not shown: the file is outside the project",
      "the current text is not shown: it is not a regular file",
    ]);
  });
});
