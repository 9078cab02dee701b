import BothyStore
import Testing

@Suite("FNV-1a in 64 bits", .timeLimit(.minutes(5)))
struct FNV1aTests {
  @Test(
    "The hash has the values of its authors' test vectors",
    arguments: [
      ("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8),
    ] as [(String, UInt64)])
  func vectors(text: String, hash: UInt64) { #expect(text.utf8.fnv1a() == hash) }

  @Test("Parts that are hashed one after another have the hash of the whole")
  func parts() {
    let whole = Array("Todo\u{0}t1".utf8)
    for middle in whole.indices {
      #expect(whole[middle...].fnv1a(after: whole[..<middle].fnv1a()) == whole.fnv1a())
    }
  }
}
