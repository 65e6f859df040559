import { workflow, z } from "aegis";

export const summary = workflow(
  "summary",
  { description: "Counts files and has an agent describe the result.", input: z.object({ glob: z.string() }) },
  async (engine, { glob }) => {
    const { stdout } = await engine.bash(`ls ${glob} | wc -l`);
    const robot = await engine.spawn("robot");
    return engine.send(robot, `summarise ${stdout.trim()} files`);
  },
);
