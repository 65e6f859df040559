/** The plane's tools, called in the daemon itself. The plane decides which of them this session may use. */

import { untilAborted } from "../../../lib/until-aborted.ts";
import type { ToolHost, ToolSpec } from "../../driver.ts";
import { capText } from "./cap.ts";
import { shorten, type Tool } from "./tool.ts";

export async function planeTools(host: ToolHost): Promise<Tool[]> {
  return (await host.list()).map((spec) => planeTool(spec, host));
}

function planeTool(spec: ToolSpec, host: ToolHost): Tool {
  const { name, description, inputSchema } = spec;
  return {
    name,
    description,
    inputSchema,
    kind: "other",
    effect: spec.readOnly ? "read" : "plane",
    isPlane: true,
    sideBySide: spec.sideBySide ?? null,
    prepare: (input) => ({
      title: shorten(`${name} ${JSON.stringify(input)}`),
      question: `${name} ${JSON.stringify(input)}`,
      changes: [],
      locations: [],
      diff: null,
      async run({ key, signal }) {
        const outcome = await untilAborted(host.call(name, input, { key, signal }), signal);
        return { output: capText(outcome.output, "Ask for less."), is_error: outcome.is_error };
      },
    }),
  };
}
