/** The command of the web app. */
import { command, type Exit, option } from "../../program/command.ts";

export const webCommands = {
  web: command({
    path: "web",
    group: "The daemon:",
    summary: "Open the web app, or manage the browsers that may use it",
    options: {
      noOpen: option.flag("--no-open", "print the link without opening a browser"),
      list: option.flag("--list", "list the browsers that have access"),
      revoke: option.text("--revoke <browser>", "revoke the access of a browser by its id, or of `all`"),
    },
    examples: ["aegis web", "aegis web --no-open", "aegis web --list", "aegis web --revoke all"],
    notes: ["The link is valid for 60 seconds and gives access to one browser."],
    run: (cx, args): Exit => import("./web.ts").then((it) => it.web(cx, args)),
  }),
};
