import { clientRoutes, type RouteName, routes } from "@aegis/contract/routes.ts";
import { expect, test } from "vitest";
import { clientToken } from "./fake-services.ts";
import { errorOf, send, start } from "./start.ts";

const asClient = { authorization: `Bearer ${clientToken}` };
const names = Object.keys(routes) as RouteName[];

test("a client's credential opens the listed routes and no other", async () => {
  const { server } = await start();
  const statuses = await Promise.all(
    names.map(async (name) => {
      const { method, path } = routes[name];
      if (name === "streamEvents") return [name, clientRoutes.includes(name)] as const;
      const answer = await send(server, method, path.replace(/:\w+/g, "x"), { headers: asClient });
      return [name, !(answer.status === 403 && errorOf(answer).message.includes('client "cursor"'))] as const;
    }),
  );
  const open = statuses.filter(([, isOpen]) => isOpen).map(([name]) => name);
  expect(open.sort()).toEqual([...clientRoutes].sort());
  // What decides about rights stays with the user.
  for (const name of ["shutdown", "addClient", "removeClient", "reloadConfig", "installSkill", "audit"] as const) {
    expect(open).not.toContain(name);
  }
});

test("a client speaks in its own name, whatever the request says", async () => {
  const { server, services } = await start();
  const headers = { ...asClient, "content-type": "application/json" };
  await send(server, "POST", "/v1/sessions", { headers, body: JSON.stringify({ prompt: "hello" }) });
  const created = services.calls.find(({ name }) => name === "create");
  expect(created?.input).toMatchObject({ prompt: "hello", sender: { kind: "client", name: "cursor" } });
  const body = JSON.stringify({ prompt: "hello", sender: { kind: "human" } });
  expect((await send(server, "POST", "/v1/sessions", { headers, body })).status).toBe(400);
});

test("a client names no command as the check of a task", async () => {
  const { server } = await start();
  const headers = { ...asClient, "content-type": "application/json" };
  const body = JSON.stringify({ payload: "work", check: "touch planted" });
  const answer = await send(server, "POST", "/v1/queues/plain/tasks", { headers, body });
  expect(answer.status).toBe(403);
  expect(errorOf(answer).message).toContain("only the owner of the project may name a check");
});

test("an unknown credential of that form is refused", async () => {
  const { server } = await start();
  const headers = { authorization: `Bearer aegis-client-${"y".repeat(43)}` };
  expect((await send(server, "GET", "/v1/sessions", { headers })).status).toBe(401);
});
