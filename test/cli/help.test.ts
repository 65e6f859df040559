import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";

it("bears a reader of its help who leaves early", async () => {
  const project = await aegisProject();
  const help = project.start("--help");
  help.child.stdout.destroy();
  const { code, stderr } = await help.ended;
  expect(stderr).toBe("");
  expect(code).toBe(0);
});
