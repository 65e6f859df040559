import { workflow, z } from "aegis";

export const summary = workflow(
  "summary",
  { description: "Counts files and has an agent describe the result.", input: z.object({ glob: z.string() }) },
  async (context, { glob }) => {
    const { stdout } = await context.bash(`ls ${glob} | wc -l`);
    const robot = await context.spawn("robot");
    return context.send(robot, `summarise ${stdout.trim()} files`);
  },
);
