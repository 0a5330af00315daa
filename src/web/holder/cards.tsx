// Cards. In work.

import { PageHead, Shell, Skeleton } from "../parts";

export default function Page() {
  return (
    <Shell app="holder" page="cards" title="Cards">
      <PageHead title="Cards" />
      <Skeleton />
    </Shell>
  );
}
