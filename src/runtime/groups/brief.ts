/** How a broadcast reads to a member. */
import type { Brief } from "../../contract/group.ts";

/** The four fields, labelled, one after the other. */
export function renderBrief({ objective, output_format, tool_guidance, boundaries }: Brief): string {
  return [
    `objective: ${objective}`,
    `output_format: ${output_format}`,
    `tool_guidance: ${tool_guidance}`,
    `boundaries: ${boundaries}`,
  ].join("\n");
}
