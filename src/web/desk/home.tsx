// The desk's Home. In work.

import { PageHead, Shell, Skeleton } from "../parts";

export default function Home() {
  return (
    <Shell app="desk" page="home" title="Home">
      <PageHead title="Home" />
      <Skeleton />
    </Shell>
  );
}
