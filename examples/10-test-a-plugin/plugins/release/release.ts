import { command, tool, WorkflowError, workflow, z } from "aegis";

export const next_version = tool(
  {
    description: "The version that follows another one.",
    input: z.object({ version: z.string() }),
    permission: "read",
  },
  ({ version }) => {
    const [major = 0, minor = 0] = version.split(".").map(Number);
    return `${major}.${minor + 1}.0`;
  },
);

export const release = workflow("release", async (context) => {
  const { stdout } = await context.bash("git status --porcelain");
  if (stdout !== "") throw new WorkflowError("there are uncommitted changes");
  const answer = await context.askHuman("Release now?", { options: ["yes", "no"] });
  if (answer !== "yes") return "not released";
  await context.bash("npm publish");
  return "released";
});

export const ship = command({ name: "ship", description: "Prepares a release." }, (args) => ({
  prompt: `Prepare the release ${args}.`,
}));
