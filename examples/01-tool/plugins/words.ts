import { tool, z } from "aegis";

export const count_words = tool(
  { description: "Counts the words of a text.", input: z.object({ text: z.string() }), permission: "read" },
  ({ text }) => `${text.split(/\s+/).length} words`,
);
