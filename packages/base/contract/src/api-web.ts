/** The endpoints that give a browser access to the web app. */
import { z } from "zod";
import { endpoint } from "./api-parts.ts";

/** A browser that may use the web app. Its cookie and its key are stored only as hashes. */
export const browserSchema = z.object({
  id: z.string(),
  user_agent: z.string(),
  created_at: z.number(),
  /** Accurate to about ten minutes across restarts of the daemon. */
  last_used_at: z.number(),
});
export type Browser = z.infer<typeof browserSchema>;

export const webEndpoints = {
  createWebCode: endpoint("Create a one-time code that gives one browser access to the web app; requires the token", {
    output: z.object({
      /** The link to open. The code is in its fragment, which browsers do not send to servers. */
      url: z.string(),
      code: z.string(),
      expires_at: z.number(),
    }),
  }),
  listBrowsers: endpoint("List the browsers that have access, newest first", {
    output: z.object({ browsers: z.array(browserSchema) }),
  }),
  revokeBrowser: endpoint("End the access of a browser and close its open connections", {
    path: z.object({ browser: z.string().describe("the id of a browser") }),
    output: z.object({ browser: browserSchema }),
  }),
};
