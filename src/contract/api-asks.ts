/** The endpoints of asks. */
import { z } from "zod";
import { count, type Endpoint, none, storableText } from "./api-parts.ts";
import { askSchema, askStatusSchema } from "./ask.ts";
import { askIdSchema } from "./schema-ids.ts";

const askPath = z.object({ ask: askIdSchema });

export const askEndpoints = {
  listAsks: {
    summary: "List open and settled asks",
    path: none,
    query: z.object({
      status: z.enum([...askStatusSchema.options, "all"]).default("open"),
      limit: count(1000, 100),
    }),
    body: none,
    output: z.object({ asks: z.array(askSchema) }),
  },
  getAsk: {
    summary: "Get one ask",
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
      text: storableText.max(100_000).default("").describe("free text, or the reason for a denial"),
      digest: z
        .string()
        .optional()
        .describe("the digest of the ask that the person saw; an answer with another digest is refused"),
      via: storableText.max(40).optional().describe("the client that answers, recorded with the ask; default: `api`"),
    }),
    output: z.object({ ask: askSchema }),
  },
} satisfies Record<string, Endpoint>;
