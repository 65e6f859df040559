/** The interface of the offline agent's own tools. */

import type { ToolKind, TurnItems } from "@aegis/contract/turn.ts";
import { errorText } from "@aegis/lib/log.ts";
import { z } from "zod";
import type { ConversationHost, FileChange } from "../../driver.ts";

export type ProjectTool = {
  name: string;
  kind: ToolKind;
  /** Changes the project, so the agent's permission applies. */
  writes: boolean;
  title(input: unknown): string;
  locations(input: unknown): TurnItems["tool_call"]["locations"];
  /** The resulting file changes. */
  changes(input: unknown): FileChange[];
  /** Throws only when aborted: any other failure is a result. The first line is the summary. */
  run(input: unknown, context: ProjectToolContext): Promise<ToolRun>;
};

export type ProjectToolContext = { root: string; signal: AbortSignal; writeFile: ConversationHost["writeFile"] };

export type ToolRun = Omit<TurnItems["tool_result"], "call">;

export function defineProjectTool<Input extends z.ZodObject>(tool: {
  name: string;
  kind: ToolKind;
  writes: boolean;
  input: Input;
  title(input: z.output<Input>): string;
  /** The single file that the call affects. */
  path?(input: z.output<Input>): string;
  changes?(input: z.output<Input>): FileChange[];
  run(input: z.output<Input>, context: ProjectToolContext): Promise<ToolRun>;
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
    changes(input) {
      const parsed = parse(input);
      return parsed.success && tool.changes ? tool.changes(parsed.data) : [];
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

/** A list under its heading, truncated at `limit` with a note. */
export function cutList(heading: string, items: readonly string[], limit: number): string {
  const rest = items.length - limit;
  return [heading, ...items.slice(0, limit), ...(rest > 0 ? [`(${rest} more are not shown)`] : [])].join("\n");
}

export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : many}`;
}
