/** A value that a schema describes, with the given text wherever it takes any text: also as the name of a free field. */
import { z } from "zod";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Ids become texts that are no valid ids: a test that needs valid ones sets them. */
export function sample<S extends z.ZodType>(schema: S, text: string): z.output<S> {
  const described = z.toJSONSchema(schema, {
    io: "output",
    unrepresentable: "any",
    reused: "inline",
    override({ zodSchema, jsonSchema }) {
      if (zodSchema._zod.def.type === "custom") jsonSchema.const = "an-id";
    },
  });
  return sampled(described, text) as z.output<S>;
}

function sampled(schema: JsonSchema | boolean, text: string): unknown {
  if (typeof schema === "boolean") return { [text]: text };
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants !== undefined) return sampled((variants as JsonSchema[])[0] ?? true, text);
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case "string":
      return text;
    case "number":
    case "integer":
      return Math.max(1, schema.minimum ?? 1);
    case "boolean":
      return true;
    case "null":
      return null;
    case "array":
      return [sampled((schema.items as JsonSchema | undefined) ?? true, text)];
    case "object": {
      const fields = Object.entries(schema.properties ?? {});
      if (fields.length === 0) return schema.additionalProperties === false ? {} : { [text]: text };
      return Object.fromEntries(fields.map(([key, part]) => [key, sampled(part as JsonSchema, text)]));
    }
    default:
      return { [text]: [text] };
  }
}
