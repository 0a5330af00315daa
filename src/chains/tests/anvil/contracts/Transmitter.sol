// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

interface Mintable {
    function mint(address to, uint256 amount) external returns (bool);
}

/// Stands at the address of MessageTransmitterV2 on Base and takes messages of burns on Solana: one test attester in place of
/// Circle's, and the minting of the token messenger in the same contract. Written to a chain with anvil_setCode.
contract Transmitter {
    address private constant USDC = 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913;
    /// TokenMessengerV2 on Base: the only recipient of messages that is known here.
    address private constant MESSENGER = 0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d;
    /// Takes the fees.
    address private constant COLLECTOR = address(0xfee);

    /// Slot 0, set with anvil_setStorageAt.
    address public attester;
    mapping(bytes32 => uint256) public usedNonces;

    event MessageReceived(
        address indexed caller,
        uint32 sourceDomain,
        bytes32 indexed nonce,
        bytes32 sender,
        uint32 indexed finalityThresholdExecuted,
        bytes messageBody
    );

    function receiveMessage(bytes calldata message, bytes calldata attestation) external returns (bool) {
        require(attestation.length == 65, "Invalid attestation length");
        bytes32 digest = keccak256(message);
        address signer =
            ecrecover(digest, uint8(attestation[64]), bytes32(attestation[0:32]), bytes32(attestation[32:64]));
        require(signer != address(0) && signer == attester, "Invalid signature: not attester");
        require(message.length >= 376, "Invalid message: too short");
        require(uint32(bytes4(message[0:4])) == 1, "Invalid message version");
        require(uint32(bytes4(message[8:12])) == 6, "Invalid destination domain");
        bytes32 caller = bytes32(message[108:140]);
        require(caller == 0 || caller == bytes32(uint256(uint160(msg.sender))), "Invalid caller for message");
        bytes32 nonce = bytes32(message[12:44]);
        require(usedNonces[nonce] == 0, "Nonce already used");
        usedNonces[nonce] = 1;
        require(bytes32(message[76:108]) == bytes32(uint256(uint160(MESSENGER))), "Invalid recipient");
        take(message[148:]);
        emit MessageReceived(
            msg.sender,
            uint32(bytes4(message[4:8])),
            nonce,
            bytes32(message[44:76]),
            uint32(bytes4(message[144:148])),
            message[148:]
        );
        return true;
    }

    function take(bytes calldata body) private {
        require(uint32(bytes4(body[0:4])) == 1, "Invalid message body version");
        uint256 amount = uint256(bytes32(body[68:100]));
        uint256 maxFee = uint256(bytes32(body[132:164]));
        uint256 fee = uint256(bytes32(body[164:196]));
        uint256 expiration = uint256(bytes32(body[196:228]));
        require(expiration == 0 || expiration > block.number, "Message expired and must be re-signed");
        require(fee == 0 || fee < amount, "Fee equals or exceeds amount");
        require(fee <= maxFee, "Fee exceeds max fee");
        if (fee > 0) Mintable(USDC).mint(COLLECTOR, fee);
        Mintable(USDC).mint(address(uint160(uint256(bytes32(body[36:68])))), amount - fee);
    }
}
