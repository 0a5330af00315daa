import{a}from"/assets/chunk-KOOJ2UBR.js";import"/assets/chunk-TFVTRJBF.js";import"/assets/chunk-2HD4QX73.js";import"/assets/chunk-PB3FLFDM.js";import"/assets/chunk-NLBKV4FL.js";export{a as Withdraw};
