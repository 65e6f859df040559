import type { Handlers } from "./adapter.ts";
import type { Services } from "./services.ts";

export type GroupHandlers = Pick<
  Handlers,
  "listGroups" | "getGroup" | "spawnGroup" | "broadcastGroup" | "waitGroup" | "dissolveGroup" | "getBroadcast"
>;

export function groupHandlers({ groups, broadcasts }: Services): GroupHandlers {
  return {
    listGroups: async () => ({ groups: await groups.list() }),
    getGroup: async ({ path }) => ({ group: await groups.view(path.group) }),
    spawnGroup: ({ path, body }) => groups.spawn({ ...body, group: path.group }),
    broadcastGroup: async ({ path, body }) => ({
      broadcast: await broadcasts.send({ ...body, group: path.group, sender: { kind: "human" } }),
    }),
    waitGroup: ({ path, body }, signal) => broadcasts.wait({ ...body, group: path.group }, signal),
    dissolveGroup: ({ path }) => groups.dissolve(path.group),
    getBroadcast: ({ path }) => broadcasts.get(path.broadcast),
  };
}
