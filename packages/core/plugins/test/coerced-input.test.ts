/** Input that `z.coerce` converts is accepted as it is sent: the plugin's own schema converts it. */
import { expect, it } from "vitest";
import { z } from "zod";
import { inputSchema } from "../src/worker/schema.ts";

it("accepts texts for numbers and booleans that are coerced, and for no others", () => {
  const input = z.object({
    n: z.coerce.number().int().min(3),
    many: z.array(z.coerce.number()),
    on: z.coerce.boolean().optional(),
    name: z.coerce.string().default("x"),
    plain: z.number(),
  });
  const { schema } = inputSchema("t", input);
  const check = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  expect(check.safeParse({ n: "41", many: ["1", 2], on: "yes", name: 4, plain: 1 }).success).toBe(true);
  expect(check.safeParse({ n: 41, many: [], plain: 1 }).success).toBe(true);
  expect(check.safeParse({ n: 1, many: [], plain: 1 }).success).toBe(false);
  expect(check.safeParse({ n: 41, many: [], plain: "1" }).success).toBe(false);
  expect(schema.required).toEqual(["n", "many", "plain"]);
});
