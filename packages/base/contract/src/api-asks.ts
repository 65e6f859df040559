/** The endpoints of asks. */
import { z } from "zod";
import { count, endpoint, storableText } from "./api-parts.ts";
import { askSchema, askStatusSchema } from "./ask.ts";
import { askIdSchema } from "./schema-ids.ts";

const askPath = z.object({ ask: askIdSchema });

export const askEndpoints = {
  listAsks: endpoint("List open and settled asks", {
    query: z.object({
      status: z.enum([...askStatusSchema.options, "all"]).default("open"),
      limit: count(1000, 100),
    }),
    output: z.object({ asks: z.array(askSchema) }),
  }),
  getAsk: endpoint("Get one ask", { path: askPath, output: z.object({ ask: askSchema }) }),
  answerAsk: endpoint("Answer an ask; the first valid answer wins", {
    path: askPath,
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
  }),
};
