import BothyCache
import BothyCore
import HTTPTypes
import Testing

@Suite("Validation of stored entries", .timeLimit(.minutes(5)))
struct ValidationTests {
  /// Promises: T-23, B-19b, E-27
  @Test("The stored validators are sent byte for byte, and no field without one")
  func conditions() {
    let modified = HTTPDate.text(At.days(-1))
    for tag in ["\"abc\"", "W/\"abc\"", "abc", "\"ä\"", "W/\"\""] {
      let fields = Validation.fields(for: .of(200, ["ETag": tag, "Last-Modified": modified]))
      #expect(fields[.ifNoneMatch] == tag)
      #expect(fields[.ifModifiedSince] == modified)
    }
    let dated = Validation.fields(for: .of(200, ["Last-Modified": modified]))
    #expect(dated.count == 1 && dated[.ifModifiedSince] == modified)
    #expect(Validation.fields(for: .of(200)).isEmpty)
    #expect(Validation.fields(for: .of(200, ["ETag": "", "Last-Modified": "long ago"])).isEmpty)
  }

  /// Promises: T-23
  @Test("Validators are sent even if the entry has been stale for long")
  func expired() {
    let tile = EntryMetadata.of(200, ["ETag": "\"1\"", "Cache-Control": "max-age=1"])
    #expect(tile.state(at: At.days(900)) != .fresh)
    #expect(Validation.fields(for: tile)[.ifNoneMatch] == "\"1\"")
  }

  /// Promises: T-24
  @Test("A 304 renews the lifetime, while bytes, receipt and tag stay")
  func renews() throws {
    let week = FreshnessRule.fixed(.days(7))
    let tile = EntryMetadata.of(200, ["ETag": "\"1\"", "X": "old", "Y": "kept"], rule: week)
    let now = At.days(9)
    #expect(tile.state(under: week, at: now) == .staleIfError)
    let renewed = try #require(tile.confirmed(["ETag": "\"1\"", "X": "new"], rule: week, at: now))
    #expect(renewed.state(under: week, at: At.days(16) - 1) == .fresh)
    #expect(renewed.state(under: week, at: At.days(16)) == .staleIfError)
    #expect(renewed.receivedAt == At.start && renewed.validatedAt == now)
    #expect(renewed.fields == .of(["ETag": "\"1\"", "Y": "kept", "X": "new"]))
  }

  /// Promises: T-24
  @Test("A 304's new fields determine the lifetime, with stored fields for the rest")
  func newTerms() throws {
    let entry = EntryMetadata.of(200, ["ETag": "\"1\"", "Cache-Control": "max-age=10", "Age": "5"])
    let longer = try #require(entry.confirmed(["Cache-Control": "max-age=100"], at: At.seconds(50)))
    #expect(longer.state(at: At.seconds(149)) == .fresh)
    #expect(longer.state(at: At.seconds(150)) != .fresh)
    #expect(longer.fields[.age] == nil)
    let same = try #require(entry.confirmed(["Age": "3"], at: At.seconds(50)))
    #expect(same.state(at: At.seconds(56)) == .fresh)
    #expect(same.state(at: At.seconds(57)) != .fresh)
  }

  @Test("A 304 changes no fields of the stored bytes and adds no connection fields")
  func bytesStay() {
    let stored = HTTPFields.of([
      "Content-Length": "36", "Content-Type": "image/png", "Content-Encoding": "x", "A": "1", "a": "2",
    ])
    let answer = HTTPFields.of([
      "Content-Length": "0", "Content-Type": "text/plain", "Content-Encoding": "y", "Connection": "close, B",
      "B": "1",
      "A": "3", "Content-Foo": "4",
    ])
    #expect(
      Validation.merged(stored, answer)
        == .of([
          "Content-Length": "36", "Content-Type": "image/png", "Content-Encoding": "x", "A": "3",
          "Content-Foo": "4",
        ]))
  }

  @Test("A 304 for other bytes than those stored confirms nothing")
  func otherBytes() {
    let entry = EntryMetadata.of(200, ["ETag": "\"1\""])
    #expect(entry.confirmed(["ETag": "\"2\""], at: At.days(1)) == nil)
    #expect(entry.confirmed(["ETag": "W/\"1\""], at: At.days(1)) != nil)
    #expect(entry.confirmed(at: At.days(1)) != nil)
  }
}
