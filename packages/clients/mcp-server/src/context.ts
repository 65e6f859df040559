/** What the tools, resources and prompts of one MCP client work with. */

import type { Client } from "@aegis/client/client.ts";
import { z } from "zod";

export type McpContext = {
  /** A client of the daemon that identifies itself with the credential of the MCP client. */
  client: Client;
  version: string;
  /** Why the server offers nothing; null if it offers everything. */
  refused: string | null;
  /** Starts the daemon if it does not run. */
  ready: () => Promise<void>;
  /** Called when the connection to the daemon breaks while a tool waits. */
  onBreak: () => void;
};

/** What a tool needs of its call. */
export type Call = {
  /** Aborts when the client cancels the call or disconnects. */
  signal: AbortSignal;
  /** True if the client can show a form to its user. */
  showsForms: boolean;
  /** The answers of the user to forms, by the key under which the tool asked for them. */
  answers: Readonly<Record<string, unknown>>;
};

/** A form that the client shows to its user before it calls the tool again with the answer. */
export type Form = { key: string; message: string; choices: readonly string[] };

export type ToolOutput = { value: unknown } | { form: Form };

export type McpTool = {
  name: string;
  description: string;
  readOnly: boolean;
  input: z.ZodObject;
  run(input: unknown, call: Call, context: McpContext): Promise<ToolOutput>;
};

export function defineTool<Input extends z.ZodObject>(tool: {
  name: string;
  description: string;
  readOnly?: boolean;
  input: Input;
  run(input: z.output<Input>, call: Call, context: McpContext): Promise<ToolOutput>;
}): McpTool {
  return {
    ...tool,
    readOnly: tool.readOnly ?? false,
    run: (input, call, context) => tool.run(input as z.output<Input>, call, context),
  };
}

export const value = (given: unknown): ToolOutput => ({ value: given });

/** The input schema as clients receive it. */
export function jsonSchemaOf(tool: McpTool): Record<string, unknown> {
  const { $schema: _, additionalProperties: __, ...schema } = z.toJSONSchema(tool.input, { io: "input" });
  return schema;
}
