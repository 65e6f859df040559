/** Renders a broadcast for a member. */
import type { Brief } from "../../contract/group.ts";

/** The four fields in order, each with its label. */
export function renderBrief({ objective, output_format, tool_guidance, boundaries }: Brief): string {
  return [
    `objective: ${objective}`,
    `output_format: ${output_format}`,
    `tool_guidance: ${tool_guidance}`,
    `boundaries: ${boundaries}`,
  ].join("\n");
}
