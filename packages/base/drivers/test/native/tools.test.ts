/** The core tools, called as the loop calls them. */
import { chmod, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { isRunning } from "@aegis/test/helpers/pids.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, test } from "vitest";
import { project } from "./project.ts";

describe("read", () => {
  test("numbers lines, pages, and says what is left", async () => {
    const { use } = await project({ "a.txt": "one\ntwo\r\nthree\nfour\n" });
    expect((await use("read", { path: "a.txt", offset: null })).output).toBe("1\tone\n2\ttwo\n3\tthree\n4\tfour");
    expect((await use("read", { path: "a.txt", offset: 2, limit: 2 })).output).toBe(
      "2\ttwo\n3\tthree\n[lines 2-3 of 4; continue with offset 4]",
    );
    expect((await use("read", { path: "a.txt", offset: 9 })).output).toContain("has 4 lines");
  });

  test("caps what it gives and says so", async () => {
    const { use } = await project({ "big.txt": `${"x".repeat(5000)}\n${`${"y".repeat(1000)}\n`.repeat(100)}` });
    const { output } = await use("read", { path: "big.txt" });
    expect(Buffer.byteLength(output)).toBeLessThan(52 * 1024);
    expect(output).toContain("[cut: 3000 more characters]");
    expect(output).toMatch(/\[cut: \d+ more bytes\. Read fewer lines/);
  });

  test.each([
    ["../outside.txt", "outside the project"],
    ["/etc/passwd", "outside the project"],
    ["link.txt", "outside the project"],
    ["a.tyt", 'No file a.tyt (did you mean "a.txt"?)'],
    ["binary", "binary file"],
    [".", "is a folder"],
  ])("refuses %s: %s", async (path, reason) => {
    const { use, dir, root } = await project({ "a.txt": "a", binary: "a\0b" });
    await writeFile(join(root, "outside.txt"), "secret");
    await symlink(join(root, "outside.txt"), join(dir, "link.txt"));
    const result = await use("read", { path });
    expect(result).toMatchObject({ is_error: true, output: expect.stringContaining(reason) });
  });
});

describe("write and edit", () => {
  test("make a new file with its folders", async () => {
    const { use, dir } = await project();
    const result = await use("write", { path: "x/y.txt", content: "new" });
    expect(result).toMatchObject({ is_error: false, diff: { path: "x/y.txt", before: null, after: "new" } });
    expect(await readFile(join(dir, "x/y.txt"), "utf8")).toBe("new");
    expect((await use("edit", { path: "x/y.txt", old_text: "new", new_text: "newer" })).is_error).toBe(false);
  });

  test("need the file to have been read", async () => {
    const { use, dir } = await project({ "a.txt": "mine" });
    for (const [name, input] of [
      ["write", { path: "a.txt", content: "x" }],
      ["edit", { path: "a.txt", old_text: "mine", new_text: "x" }],
    ] as const)
      expect(await use(name, input)).toMatchObject({
        is_error: true,
        output: expect.stringContaining("Read it first"),
      });
    expect(await readFile(join(dir, "a.txt"), "utf8")).toBe("mine");
  });

  test("refuse a file that someone else changed or removed, until it is read again", async () => {
    const { use, dir } = await project({ "a.txt": "one" });
    await use("read", { path: "a.txt" });
    await writeFile(join(dir, "a.txt"), "two");
    const stale = await use("write", { path: "a.txt", content: "x" });
    expect(stale).toMatchObject({ is_error: true, output: expect.stringContaining("stale") });
    expect(await readFile(join(dir, "a.txt"), "utf8")).toBe("two");
    await use("read", { path: "a.txt" });
    expect((await use("write", { path: "a.txt", content: "three" })).is_error).toBe(false);
    expect((await use("edit", { path: "a.txt", old_text: "three", new_text: "four" })).is_error).toBe(false);
  });

  test("need a unique match, or all of them", async () => {
    const { use, dir } = await project({ "a.txt": "a b a" });
    await use("read", { path: "a.txt" });
    const edit = { path: "a.txt", old_text: "a", new_text: "$&" };
    expect((await use("edit", edit)).output).toContain("found 2 times");
    expect((await use("edit", { ...edit, old_text: "zz" })).output).toContain("was not found");
    expect((await use("edit", { ...edit, replace_all: true })).output).toBe("Replaced 2 places in a.txt.");
    expect(await readFile(join(dir, "a.txt"), "utf8")).toBe("$& b $&");
  });

  test("keep line endings, mode and the target of a link", async () => {
    const { use, dir } = await project({ "run.sh": "a\r\nb\r\nc\r\n" });
    await chmod(join(dir, "run.sh"), 0o755);
    await symlink("run.sh", join(dir, "link.sh"));
    await use("read", { path: "link.sh" });
    expect(await use("edit", { path: "link.sh", old_text: "a\nb", new_text: "x\ny" })).toMatchObject({
      is_error: false,
    });
    expect(await readFile(join(dir, "run.sh"), "utf8")).toBe("x\r\ny\r\nc\r\n");
    expect((await stat(join(dir, "run.sh"))).mode & 0o777).toBe(0o755);
  });

  test("stay in the project", async () => {
    const { use } = await project();
    expect((await use("write", { path: "../x.txt", content: "" })).output).toContain("outside the project");
  });
});

describe("bash", () => {
  test("gives output and exit code, without the daemon's secrets", async () => {
    const { use } = await project({ "a.txt": "" }, { shellEnv: { PATH: process.env.PATH ?? "", MINE: "yes" } });
    expect((await use("bash", { command: "echo out; echo err >&2; ls; echo $MINE" })).output).toBe(
      "out\nerr\na.txt\nyes",
    );
    expect(await use("bash", { command: "echo no; exit 3" })).toEqual({ output: "no\n[exit code 3]", is_error: true });
    expect((await use("bash", { command: "cat" })).output).toBe("(no output)");
    expect((await use("bash", { command: 'echo "$0" | grep -c sh; [[ a == a ]] && echo ok' })).output).toContain("ok");
  });

  test("caps long output in the middle", async () => {
    const { use } = await project();
    const { output } = await use("bash", { command: "echo first; yes | head -c 300000; echo last" });
    expect(Buffer.byteLength(output)).toBeLessThan(51 * 1024);
    expect(output).toMatch(/^first\n[\s\S]*\[cut: \d+ bytes in the middle\][\s\S]*last$/);
  });

  test("ends the whole tree when the time is over", async () => {
    const clock = fakeClock();
    const { use, dir } = await project({}, { clock });
    const command = "echo begun; sleep 1000 & echo $! > pid; wait";
    const running = use("bash", { command, timeout_seconds: 3 });
    await waitUntil("the command runs", async () => (await readFile(join(dir, "pid"), "utf8").catch(() => "")) !== "");
    const pid = Number(await readFile(join(dir, "pid"), "utf8"));
    expect(isRunning(pid)).toBe(true);
    await clock.advance(3000);
    expect(await running).toEqual({ output: "begun\n[timed out after 3 s and was killed]", is_error: true });
    expect(isRunning(pid)).toBe(false);
  });

  test("leaves nothing running behind", async () => {
    const { use } = await project();
    const { output } = await use("bash", { command: "sleep 1000 >/dev/null 2>&1 & echo $!" });
    expect(isRunning(Number(output))).toBe(false);
  });
});

describe("grep, glob and ls", () => {
  const files = {
    "src/a.ts": "const one = 1;\nconst two = 2;\n",
    "src/deep/b.ts": "two\n",
    "README.md": "Two words\n",
    "node_modules/x/index.js": "two",
    ".git/config": "two",
    ".aegis/state/daemon.json": "two",
    "image.bin": "two\0",
  };

  test("find by content", async () => {
    const { use } = await project(files);
    expect((await use("grep", { pattern: "two" })).output).toBe("src/a.ts:2:const two = 2;\nsrc/deep/b.ts:1:two");
    expect((await use("grep", { pattern: "^two", ignore_case: true, include: "*.md" })).output).toBe(
      "README.md:1:Two words",
    );
    expect((await use("grep", { pattern: "one", path: "src/a.ts" })).output).toBe("src/a.ts:1:const one = 1;");
    expect((await use("grep", { pattern: "zebra" })).output).toContain("No match");
    expect(await use("grep", { pattern: "(" })).toMatchObject({
      is_error: true,
      output: expect.stringContaining("Escape"),
    });
    expect((await use("grep", { pattern: "x", path: "../" })).output).toContain("outside the project");
  });

  test("give up on a pattern that would never end", async () => {
    const { use } = await project({ "a.txt": `${"a".repeat(40)}!\n` });
    expect(await use("grep", { pattern: "^(a+)+$" })).toMatchObject({
      is_error: true,
      output: expect.stringContaining("takes too long"),
    });
  });

  test("cap their results", async () => {
    const { use } = await project({ "a.txt": "hit\n".repeat(1000) });
    const { output } = await use("grep", { pattern: "hit" });
    expect(output.split("\n")).toHaveLength(201);
    expect(output).toContain("[cut at 200 matches");
  });

  test("find by name", async () => {
    const { use } = await project(files);
    expect((await use("glob", { pattern: "*.ts" })).output).toBe("src/a.ts\nsrc/deep/b.ts");
    expect((await use("glob", { pattern: "src/*.ts" })).output).toBe("src/a.ts");
    expect((await use("glob", { pattern: "**/b.*", path: "src" })).output).toBe("src/deep/b.ts");
  });

  test("list a folder", async () => {
    const { use } = await project(files);
    expect((await use("ls", {})).output).toBe(
      ".aegis/\n.git/\n.keep 0 B\nREADME.md 10 B\nimage.bin 4 B\nnode_modules/\nsrc/",
    );
    expect((await use("ls", { path: "srx" })).output).toContain('did you mean "src"?');
    expect((await use("ls", { path: "README.md" })).output).toContain("Use read");
  });
});

test("todo shows the plan", async () => {
  const { use } = await project();
  const entries = [
    { text: "look", status: "completed" },
    { text: "change", status: "pending" },
  ];
  expect(await use("todo", { entries })).toEqual({
    output: "The plan is shown: 1 of 2 open.",
    is_error: false,
    plan: entries,
  });
});
