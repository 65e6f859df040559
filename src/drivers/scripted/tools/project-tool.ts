/** What the offline agent's own tools have in common. */
import { z } from "zod";
import type { ToolKind, TurnItems } from "../../../contract/turn.ts";
import { errorText } from "../../../lib/log.ts";

export type ProjectTool = {
  name: string;
  kind: ToolKind;
  /** Changes the project, so the agent's permission decides. */
  writes: boolean;
  title(input: unknown): string;
  locations(input: unknown): TurnItems["tool_call"]["locations"];
  /** Throws only when aborted: whatever else goes wrong is the result. The first line sums it up. */
  run(input: unknown, context: ToolContext): Promise<ToolRun>;
};

export type ToolContext = { root: string; signal: AbortSignal };

export type ToolRun = Omit<TurnItems["tool_result"], "call">;

export function defineProjectTool<Input extends z.ZodObject>(tool: {
  name: string;
  kind: ToolKind;
  writes: boolean;
  input: Input;
  title(input: z.output<Input>): string;
  /** The one file it is about. */
  path?(input: z.output<Input>): string;
  run(input: z.output<Input>, context: ToolContext): Promise<ToolRun>;
}): ProjectTool {
  const parse = (input: unknown) => tool.input.safeParse(input);
  return {
    name: tool.name,
    kind: tool.kind,
    writes: tool.writes,
    title(input) {
      const parsed = parse(input);
      return parsed.success ? tool.title(parsed.data) : tool.name;
    },
    locations(input) {
      const parsed = parse(input);
      return parsed.success && tool.path ? [{ path: tool.path(parsed.data) }] : [];
    },
    async run(input, context) {
      const parsed = parse(input);
      if (!parsed.success) return toolError(`${tool.name}: ${z.prettifyError(parsed.error)}`);
      try {
        return await tool.run(parsed.data, context);
      } catch (error) {
        if (context.signal.aborted) throw error;
        return toolError(`${tool.name}: ${errorText(error)}`);
      }
    },
  };
}

export function toolOutput(output: string): ToolRun {
  return { output, is_error: false, diff: null };
}

export function toolError(output: string): ToolRun {
  return { output, is_error: true, diff: null };
}

/** A list under its heading, cut at `limit`, which is said. */
export function cutList(heading: string, items: readonly string[], limit: number): string {
  const rest = items.length - limit;
  return [heading, ...items.slice(0, limit), ...(rest > 0 ? [`(${rest} more are not shown)`] : [])].join("\n");
}

export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : many}`;
}
