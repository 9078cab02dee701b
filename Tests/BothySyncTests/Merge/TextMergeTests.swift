import BothyLegacy
import BothyStore
import BothySync
import BothyTesting
import Testing

/// The rules that keep the edits of both sides: texts by lines, lists by position.
@Suite("Keeping both texts and both lists", .timeLimit(.minutes(5)))
struct TextMergeTests {
  private func both(_ base: String?, _ client: String, _ server: String) -> String? {
    FieldMerge.merge(
      base: base.map { .string($0) } ?? .null, client: .string(client), server: .string(server),
      clientIsLater: false, rule: .keepBoth
    ).stringValue
  }

  @Test("Edits of different lines are both kept, and no line twice")
  func differentLines() {
    #expect(both("a\nb\nc", "a1\nb\nc", "a\nb\nc1") == "a1\nb\nc1")
    #expect(both("a\nb\nc", "a\nb1\nc", "a\nb\nc1") == "a\nb1\nc1")
    #expect(both("a\nb\nc", "b\nc", "a\nb\nc\nd") == "b\nc\nd")
    #expect(both("a\nb\nc", "a\nb\nc\nd", "x\na\nb\nc") == "x\na\nb\nc\nd")
  }

  @Test("Insertions of both sides at one place are kept once each, identical edits once")
  func insertions() {
    #expect(both("a\nb", "a\nmine\nb", "a\ntheirs\nb") == "a\ntheirs\nmine\nb")
    #expect(both("a\nb", "a\nsame\nb", "a\nsame\nb\nc") == "a\nsame\nb\nc")
    #expect(both("a\nb", "a\nsame\nmine\nb", "a\nsame\nb") == "a\nsame\nmine\nb")
    #expect(both(nil, "mine", "theirs") == "theirs\nmine")
    #expect(both("", "mine", "theirs") == "theirs\nmine")
    #expect(both(nil, "same\nmine", "same\ntheirs") == "same\ntheirs\nmine")
  }

  @Test("A line both sides changed is kept twice, a removed one not at all")
  func oneLine() {
    #expect(both("a\nwalk the dog\nc", "a\nfeed a cat\nc", "a\nbuy milk\nc") == "a\nbuy milk\nfeed a cat\nc")
    #expect(both("a\nb\nc", "a\nc", "a\nb1\nc") == "a\nb1\nc")
    #expect(both("a\nb\nc", "a\nb1\nc", "a\nc") == "a\nb1\nc")
    #expect(both("buy milk", "buy milk today", "please buy milk") == "please buy milk today")
    #expect(both("buy milk", "buy milk!", "buy milk?") == "buy milk?!")
  }

  @Test("A text to which two devices append in turn grows by their additions")
  func rounds() async throws {
    let schema = StoreSchema(types: [
      TypeSchema("Page", fields: [FieldSchema("text", .text, merge: .keepBoth)])
    ])
    let pair = try Pair(schema: schema, policy: .fieldByField)
    try pair.b.put(AnyRecord("Page", id: "P", ["text": "a short title"]))
    _ = try await pair.isEven()
    let page = RecordID(type: "Page", id: "P")
    for round in 1...6 {
      for (device, letter) in [(pair.a, "x"), (pair.b, "y")] {
        guard case .text(let text)? = try device.record("Page", "P")?["text"] else { continue }
        try device.change { _ = try $0.update(page, fields: ["text": .text(text + letter)]) }
      }
      #expect(try await pair.isEven())
      guard case .text(let text)? = try pair.a.record("Page", "P")?["text"] else { continue }
      #expect(text.utf8.count == 13 + 2 * round, "\(text)")
    }
  }

  /// Checks random texts of a small domain against the lines that must be present.
  @Test("A line that one side added is present once, whatever both sides did")
  func property() {
    var generator = SeededGenerator(seed: 20_26)
    for _ in 0..<5000 {
      let base = (0..<Int.random(in: 0...5, using: &generator)).map { "base line \($0)" }
      func edited(_ name: String) -> [String] {
        var lines = base
        for number in 0..<Int.random(in: 0...3, using: &generator) {
          let place = Int.random(in: 0...lines.count, using: &generator)
          switch Int.random(in: 0...2, using: &generator) {
          case 0: lines.insert("\(name)\(number)", at: place)
          case 1 where place < lines.count: lines[place] = "\(name)\(number)"
          case _ where place < lines.count: lines.remove(at: place)
          default: break
          }
        }
        return lines
      }
      let (mine, theirs) = (edited("mine"), edited("theirs"))
      guard mine != base, theirs != base, mine != theirs else { continue }
      let merged =
        (both(
          base.joined(separator: "\n"), mine.joined(separator: "\n"), theirs.joined(separator: "\n")) ?? "")
        .split(separator: "\n").map(String.init)
      for line in mine + theirs where !base.contains(line) {
        #expect(merged.count { $0 == line } == 1, "\(base) \(mine) \(theirs) \(merged)")
      }
      for line in base where mine.contains(line) && theirs.contains(line) {
        #expect(merged.count { $0 == line } == 1, "\(base) \(mine) \(theirs) \(merged)")
      }
      for line in base where !mine.contains(line) && !theirs.contains(line) {
        #expect(!merged.contains(line), "\(base) \(mine) \(theirs) \(merged)")
      }
    }
  }

  private func union(_ base: [JSONValue], _ client: [JSONValue], _ server: [JSONValue]) -> [JSONValue]? {
    FieldMerge.merge(
      base: .array(base), client: .array(client), server: .array(server), clientIsLater: false,
      rule: .setUnion
    ).arrayValue
  }

  @Test("List insertions keep their places, and one side's new order is kept")
  func positions() {
    #expect(union([1, 2, 3], [1, 8, 2, 3], [1, 2, 3, 9]) == [1, 8, 2, 3, 9])
    #expect(union([1, 2], [0, 1, 2], [1, 2, 9]) == [0, 1, 2, 9])
    #expect(union([1, 2], [1, 8, 2], [1, 9, 2]) == [1, 9, 8, 2])
    #expect(union([1, 2, 3], [3, 1, 2], [1, 2, 3, 9]) == [3, 9, 1, 2])
    #expect(union([1, 2, 3], [1, 2, 3, 8], [3, 2, 1]) == [3, 8, 2, 1])
    #expect(union([1, 2, 3], [1, 8, 3], [1, 2, 9, 3]) == [1, 9, 8, 3])
    #expect(union([], [8], [9]) == [9, 8])
  }

  @Test("By default edits of different fields are both kept, and counts add up")
  func byDefault() async throws {
    let world = try SimulatedWorld()
    let a = try world.addDevice("a", schema: .notes, configuration: .quiet)
    let b = try world.addDevice("b", schema: .notes, configuration: .quiet)
    try a.insert("T1", "start")
    for device in [a, b] { await device.store.sync() }
    try a.edit { ($0.title, $0.score) = ("by a", 11) }
    try b.edit { ($0.note, $0.score) = ("by b", 12) }
    for device in [a, b, a] { await device.store.sync() }
    for device in [a, b] {
      let note = try #require(try device.note())
      #expect(note.title == "by a" && note.note == "by b" && note.score == 23)
    }
    #expect(SyncOptions.stackMob.merging.default.name == "remoteWins")
    #expect(SyncOptions.ntiBridge.merging.default.name == "remoteNewerWins")
  }
}
