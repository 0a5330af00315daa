// Home. In work.

import { BigAmount, PageHead, Shell } from "../parts";
import { account } from "./account";

export default function Home() {
  return (
    <Shell app="holder" page="home" title="Home">
      <PageHead title="Home" />
      <BigAmount value={account.value?.available} />
    </Shell>
  );
}
