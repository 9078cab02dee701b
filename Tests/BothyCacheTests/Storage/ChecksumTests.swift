import BothyCache
import Testing

@Suite("XXH64")
struct ChecksumTests {
  /// The buffer and the values of the reference implementation's own check (cli/xsum_sanity_check.c).
  @Test("Gives the published values")
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
}
