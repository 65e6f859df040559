import { routes } from "@aegis/contract/routes.ts";
import { expect, test } from "vitest";
import { send, start } from "./start.ts";

type Document = {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
};
type Operation = {
  operationId: string;
  security?: unknown[];
  parameters?: { name: string; in: string; required: boolean; schema: Record<string, unknown> }[];
  requestBody?: { content: { "application/json": { schema: { required: string[]; properties: object } } } };
  responses: { 200: { content: Record<string, { schema: Record<string, unknown> }> } };
};

test("the document describes every route of the table", async () => {
  const { server } = await start();
  const document = JSON.parse((await send(server, "GET", "/openapi.json")).text) as Document;
  expect(document).toMatchObject({ openapi: "3.1.0", info: { version: "1.2.3" } });
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => [operationId, method.toUpperCase(), path]),
  );
  const expected = Object.entries(routes).map(([name, { method, path }]) => [
    name,
    method,
    path.replace(/:(\w+)/g, "{$1}"),
  ]);
  expect(described.toSorted()).toEqual(expected.toSorted());
});

test("parameters, bodies and answers come from the schemas", async () => {
  const { server } = await start();
  const { paths } = JSON.parse((await send(server, "GET", "/openapi.json")).text) as Document;
  const listEvents = paths["/v1/events"]?.get;
  expect(listEvents?.parameters).toContainEqual({
    name: "limit",
    in: "query",
    required: false,
    schema: { type: "integer", minimum: 1, maximum: 1000, default: 500 },
  });
  const post = paths["/v1/sessions/{session}/messages"]?.post;
  expect(post?.parameters).toMatchObject([{ name: "session", in: "path", required: true }]);
  expect(post?.requestBody?.content["application/json"].schema).toMatchObject({
    required: ["text"],
    properties: { id: { type: "string" }, text: { type: "string", minLength: 1 } },
  });
  expect(JSON.stringify(listEvents?.responses[200])).toContain("turn.tool_call");
  expect(paths["/v1/events/stream"]?.get?.responses[200].content).toHaveProperty(["text/event-stream"]);
  expect(paths["/health"]?.get?.security).toEqual([]);
});
