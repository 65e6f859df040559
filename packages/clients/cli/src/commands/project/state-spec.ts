/** Commands about the state in a project folder. They need no daemon. */
import { command, type Exit, option } from "../../program/command.ts";

const group = "Setup:";
const yes = option.flag("-y, --yes", "agree without a prompt");

export const stateCommands = {
  show: command({
    path: "state show",
    group,
    summary: "Show who owns the state in this folder, and its contents if it is not yours",
    options: { all: option.flag("--all", "show every item, not only the first of each kind") },
    examples: ["aegis state show", "aegis state show --all --json"],
    run: (cx, args): Exit => import("./state.ts").then((it) => it.stateShow(cx, args)),
  }),
  adopt: command({
    path: "state adopt",
    group,
    summary: "Show the state that came with this folder, and adopt it",
    options: {
      yes,
      digest: option.text("--digest <digest>", "adopt only if the database has this digest, as printed by state show"),
    },
    examples: ["aegis state adopt", "aegis state adopt --yes --digest 5f2c…"],
    run: (cx, args): Exit => import("./state.ts").then((it) => it.stateAdopt(cx, args)),
  }),
  setAside: command({
    path: "state set-aside",
    group,
    summary: "Rename the state in this folder, so that the next daemon starts with empty state",
    examples: ["aegis state set-aside"],
    run: (cx, args): Exit => import("./state.ts").then((it) => it.stateSetAside(cx, args)),
  }),
  storeSalvage: command({
    path: "store salvage",
    group,
    summary: "Restore sessions from a database that was damaged, emptied or deleted",
    options: { from: option.text("--from <file>", "read only this database file", "file"), yes },
    examples: ["aegis store salvage", "aegis store salvage --yes --json"],
    run: (cx, args): Exit => import("./store.ts").then((it) => it.storeSalvage(cx, args)),
  }),
  storeCopy: command({
    path: "store copy",
    group,
    summary: "Move the data of a stopped project to PostgreSQL, or back to the embedded database",
    options: { to: option.choice("--to <store>", "postgres or sqlite (required)", ["postgres", "sqlite"]) },
    examples: ["aegis store copy --to postgres", "aegis store copy --to sqlite"],
    run: (cx, args): Exit => import("./store.ts").then((it) => it.storeCopy(cx, args)),
  }),
  storeForget: command({
    path: "store forget",
    group,
    summary: "Stop reporting that a database was lost",
    examples: ["aegis store forget"],
    run: (cx, args): Exit => import("./store.ts").then((it) => it.storeForget(cx, args)),
  }),
};
