import BothyCache
import Testing

@Suite("Checksums of entries", .timeLimit(.minutes(5)))
struct ChecksumTests {
  /// The test uses the buffer and the values of the reference implementation's own check (cli/xsum_sanity_check.c).
  @Test("XXH64 returns the published values")
  func publishedValues() {
    var generator: UInt64 = 2_654_435_761
    var buffer: [UInt8] = []
    for _ in 0..<222 {
      buffer.append(UInt8(truncatingIfNeeded: generator >> 56))
      generator = generator &* 11_400_714_785_074_694_797
    }
    let prime: UInt64 = 2_654_435_761
    let values: [(length: Int, seed: UInt64, hash: UInt64)] = [
      (0, 0, 0xEF46_DB37_51D8_E999), (0, prime, 0xAC75_FDA2_929B_17EF), (1, 0, 0xE934_A84A_DB05_2768),
      (1, prime, 0x5014_6076_43A9_B4C3), (4, 0, 0x9136_A0DC_A574_57EE), (14, 0, 0x8282_DCC4_994E_35C8),
      (14, prime, 0xC3BD_6BF6_3DEB_6DF0), (222, 0, 0xB641_AE8C_B691_C174),
      (222, prime, 0x20CB_8AB7_AE10_C14A),
    ]
    for value in values {
      #expect(
        XXH64.hash(Array(buffer.prefix(value.length)), seed: value.seed) == value.hash, "\(value.length)")
    }
    #expect(XXH64.hash(Array("a".utf8)) == 0xD24E_C4F1_A98C_6E5B)
    #expect(XXH64.hash(Array("abc".utf8)) == 0x44BC_2CF5_AD77_0999)
  }

  /// The values are those of the reference implementation (libxxhash 0.8.1, XXH3_64bits).
  ///
  /// They are on both sides of every boundary of its stripes of 64 bytes and blocks of 1,024.
  @Test("XXH3 returns the values of the reference implementation")
  func referenceValues() {
    var generator: UInt64 = 2_654_435_761
    var buffer: [UInt8] = []
    for _ in 0..<20_000 {
      buffer.append(UInt8(truncatingIfNeeded: generator >> 56))
      generator = generator &* 11_400_714_785_074_694_797
    }
    let values: [(length: Int, hash: UInt64)] = [
      (241, 0xC5A6_39EC_D203_0E5E), (255, 0xE98F_979F_4ED8_A197), (256, 0x55DE_574A_D89D_0AC5),
      (257, 0xB17F_D5A8_AE75_BB0B), (320, 0x7562_0D35_0FF5_C694), (1024, 0xDD85_C9B5_C110_9C5C),
      (1025, 0xD870_C0FA_1321_1C6A), (1088, 0xCC14_50EA_6B52_A8F4), (1089, 0xEF72_7B2E_FFC4_CC8C),
      (2048, 0xDD59_E2C3_A5F0_38E0), (2049, 0xD3AF_A432_9779_B921), (2112, 0x7C33_C86D_9E6A_8C39),
      (15_360, 0xE61F_6A3C_C519_94A5), (20_000, 0xF5C7_E25B_7401_101A),
    ]
    for value in values {
      #expect(
        buffer.withUnsafeBytes { XXH3.hash(UnsafeRawBufferPointer(rebasing: $0[..<value.length])) }
          == value.hash, "\(value.length)")
    }
  }
}
