/** The endpoints of questions to people. */
import { z } from "zod";
import { count, type Endpoint, none, storableText } from "./api-parts.ts";
import { askSchema, askStatusSchema } from "./ask.ts";
import { askIdSchema } from "./schema-ids.ts";

const askPath = z.object({ ask: askIdSchema });

export const askEndpoints = {
  listAsks: {
    summary: "Questions that wait, or waited, for a person",
    path: none,
    query: z.object({ status: askStatusSchema.default("open"), limit: count(1000, 100) }),
    body: none,
    output: z.object({ asks: z.array(askSchema) }),
  },
  getAsk: {
    summary: "One ask",
    path: askPath,
    query: none,
    body: none,
    output: z.object({ ask: askSchema }),
  },
  answerAsk: {
    summary: "Answer an ask; the first valid answer wins",
    path: askPath,
    query: none,
    body: z.object({
      choice: z.string().nullable().default(null).describe("one of the ask's options"),
      text: storableText.max(100_000).default("").describe("free text, or the reason of a denial"),
      digest: z.string().optional().describe("refuses the answer when the ask is about another action"),
    }),
    output: z.object({ ask: askSchema }),
  },
} satisfies Record<string, Endpoint>;
