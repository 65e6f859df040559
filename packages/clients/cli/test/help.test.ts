import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { expect, it } from "vitest";
import { shortHelp, startWords, tasks } from "../src/program/short-help.ts";
import { commands } from "../src/program/table.ts";

it("bears a reader of its help who leaves early", async () => {
  const project = await aegisProject();
  const help = project.start("--help");
  help.child.stdout.destroy();
  const { code, stderr } = await help.ended;
  expect(stderr).toBe("");
  expect(code).toBe(0);
});

it.each([
  ["kil --help", "unknown command 'kil'", "Did you mean kill?"],
  ["help kil", "unknown command 'kil'", "Did you mean kill?"],
  ["workflow lst -h", "unknown command 'lst'", "Did you mean list?"],
])("answers aegis %s with the nearest command", async (words, problem, hint) => {
  const project = await aegisProject();
  const { code, stdout, stderr } = await project.aegis(...words.split(" "));
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(problem);
  expect(stderr).toContain(hint);
});

it("names the argument that an invalid id was given for", { tags: "slow" }, async () => {
  const project = await aegisProject();
  const { code, stderr } = await project.aegis("kill", "nope");
  expect(code).toBe(2);
  expect(stderr).toContain("<run>: expected 12 hexadecimal digits");
});

it("fits one screen, names the apps first, and gives every command a place", async () => {
  const lines = shortHelp().trimEnd().split("\n");
  expect(lines.length).toBeLessThan(24);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(lines[1]).toContain("terminal app");
  expect(lines[2]).toContain("aegis web");

  const listed = Object.values(tasks).flatMap((entries) =>
    entries.map((one) => (typeof one === "string" ? one : one[0])),
  );
  const existing = new Set(commands.map(({ path }) => path.split(" ")[0] ?? ""));
  expect([...listed, ...startWords].sort()).toEqual([...existing].sort());

  const project = await aegisProject();
  expect((await project.aegis("--help")).stdout).toBe(shortHelp());
  expect((await project.aegis("help")).stdout).toBe(shortHelp());
  const all = await project.aegis("help", "all");
  for (const name of existing) expect(all.stdout).toContain(`\n  ${name}`);
});
