// The panel with the button that stops all agents, for the page of agents.

import { Panel } from "../parts";
import { StopAgentsButton } from "./stop-agents";

/** The button is never disabled by a stale page: it needs no figures to be right. */
export function StopPanel() {
  return (
    <Panel>
      <div class="stop-box">
        <div>
          <h2>Stop my agents</h2>
          <p class="soft">One press ends every session of an agent and lets nothing more be bought. API keys end for good. What is already paid goes on.</p>
        </div>
        <StopAgentsButton />
      </div>
    </Panel>
  );
}
