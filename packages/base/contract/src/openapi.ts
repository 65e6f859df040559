/** The endpoint table as OpenAPI 3.1. */
import { z } from "zod";
import { type Endpoint, endpoints } from "./api.ts";
import { errorStatus } from "./errors.ts";
import { publicRoutes, type RouteName, routes } from "./routes.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * Returns the HTTP API as an OpenAPI 3.1 document, generated from the schemas that the daemon validates requests with.
 * A running daemon serves the same document at `GET /openapi.json`.
 *
 * @param version - goes into `info.version`
 * @example
 * ```ts
 * import { writeFileSync } from "node:fs";
 * import { openApiDocument } from "aegis/schema";
 *
 * writeFileSync("openapi.json", JSON.stringify(openApiDocument("0.2.0"), null, 2));
 * ```
 */
export function openApiDocument(version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const name of Object.keys(routes) as RouteName[]) {
    const path = routes[name].path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [routes[name].method.toLowerCase()]: operation(name) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Aegis", version, description: "The daemon of one project. All times are milliseconds since 1970." },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { Error: errorSchema },
    },
  };
}

const errorSchema = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["code", "message"],
      properties: {
        code: { enum: Object.keys(errorStatus) },
        message: { type: "string" },
        hint: { type: "string" },
        details: {},
      },
    },
  },
};

function operation(name: RouteName): Record<string, unknown> {
  const endpoint: Endpoint = endpoints[name];
  const parameters = [...parametersIn("path", endpoint.path), ...parametersIn("query", endpoint.query)];
  return {
    operationId: name,
    summary: endpoint.summary,
    ...(publicRoutes.includes(name) ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBody(endpoint.body),
    responses: {
      200: { description: "Done", content: responseContent(name, endpoint) },
      default: {
        description: "Refused or failed",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    },
  };
}

function parametersIn(place: "path" | "query", schema: z.ZodObject): unknown[] {
  const { properties = {}, required = [] } = jsonSchema(schema, "input");
  return Object.entries(properties).map(([name, field]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    schema: field,
  }));
}

function requestBody(schema: z.ZodObject): Record<string, unknown> {
  if (Object.keys(schema.shape).length === 0) return {};
  const body = jsonSchema(schema, "input");
  const required = (body.required ?? []).length > 0;
  return { requestBody: { required, content: { "application/json": { schema: body } } } };
}

function responseContent(name: RouteName, endpoint: Endpoint): Record<string, unknown> {
  if (name === "streamEvents") return { "text/event-stream": { schema: { type: "string" } } };
  return { "application/json": { schema: jsonSchema(endpoint.output, "output") } };
}

function jsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override({ zodSchema, jsonSchema: made }) {
      // Ids are the only custom checks in the contract.
      if (zodSchema._zod.def.type === "custom") made.type = "string";
    },
  });
  return rest;
}
