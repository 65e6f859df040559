import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { expect, it } from "vitest";

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

it("names the argument that an invalid id was given for", async () => {
  const project = await aegisProject();
  const { code, stderr } = await project.aegis("kill", "nope");
  expect(code).toBe(2);
  expect(stderr).toContain("<run>: expected 12 hexadecimal digits");
});
