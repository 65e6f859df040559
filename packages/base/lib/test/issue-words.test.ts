import { expect, it } from "vitest";
import { z } from "zod";
import { fieldProblems, problemText } from "../src/issue-words.ts";

const schema = z.strictObject({
  title: z.string().max(5),
  how: z.enum(["merge", "rebase"]).optional(),
  limit: z.coerce.number().int().min(1).max(10).optional(),
  files: z.array(z.string()).min(1).optional(),
});

it.each([
  [{ title: "too long" }, "title: expected string of at most 5 characters"],
  [{}, "title: it is missing"],
  [{ title: 5 }, "title: expected string, received number"],
  [{ title: "a", how: "squash" }, 'how: expected one of "merge"|"rebase"'],
  [{ title: "a", limit: "x" }, "limit: expected a number"],
  [{ title: "a", limit: 11 }, "limit: expected number of at most 10"],
  [{ title: "a", files: [] }, "files: expected array of at least 1 items"],
  [{ title: "a", titel: "b" }, 'unknown field "titel" (did you mean "title"?)'],
])("words the problem of %j", (input, text) => {
  const { error } = schema.safeParse(input);
  const problems = fieldProblems(error?.issues ?? [], { known: Object.keys(schema.shape), noun: "field" });
  expect(problems.map(problemText)).toEqual([text]);
});
