import{a}from"/assets/chunk-BTHSF473.js";import"/assets/chunk-FS4DKFFL.js";import"/assets/chunk-MLSFAK43.js";import"/assets/chunk-LH6KJHH5.js";export{a as Withdraw};
