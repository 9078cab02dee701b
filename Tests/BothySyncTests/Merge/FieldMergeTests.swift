import BothyStore
import BothySync
import Testing

/// Each rule is compared with a model, on all values of a small domain.
@Suite("Merging field by field", .timeLimit(.minutes(5)))
struct FieldMergeTests {
  static let numbers: [JSONValue] = [.null, 0, 1, 2, 5]
  static let texts: [JSONValue] = [.null, "", "a", "b", "ab"]
  static let lists: [JSONValue] = [.null, [], [1], [2], [1, 2], [2, 3]]

  private static func eachWorld(
    _ domain: [JSONValue],
    _ body: (_ base: JSONValue, _ client: JSONValue, _ server: JSONValue, _ later: Bool) -> Void
  ) {
    for base in domain {
      for client in domain {
        for server in domain { for later in [false, true] { body(base, client, server, later) } }
      }
    }
  }

  /// Returns the merge of two changes that differ, by the model.
  private static func model(
    _ rule: FieldMergeRule, _ base: JSONValue, _ client: JSONValue, _ server: JSONValue, _ later: Bool
  ) -> JSONValue {
    switch rule {
    case .remote, .counter, .setUnion, .keepBoth: server
    case .local: client
    case .latest: later ? client : server
    case .max: rank(client) > rank(server) ? client : server
    case .min: rank(client) < rank(server) ? client : server
    }
  }

  private static func rank(_ value: JSONValue) -> Int64 { value.intValue ?? -1 }

  @Test(
    "A field takes the value of the side that changed it, else its rule's",
    arguments: [FieldMergeRule.remote, .local, .latest, .max, .min])
  func orderedRules(rule: FieldMergeRule) {
    Self.eachWorld(Self.numbers) { base, client, server, later in
      let expected =
        client == base ? server : server == base ? client : Self.model(rule, base, client, server, later)
      let merged = FieldMerge.merge(
        base: base, client: client, server: server, clientIsLater: later, rule: rule)
      #expect(merged == expected, "\(rule): \(base), \(client), \(server), later \(later)")
    }
  }

  @Test("A counter ends at the server's count plus the local increase")
  func counters() {
    Self.eachWorld([0, 1, 2, 5, -3]) { base, client, server, later in
      let merged = FieldMerge.merge(
        base: base, client: client, server: server, clientIsLater: later, rule: .counter)
      let numbers = [base, client, server].map { $0.intValue ?? 0 }
      #expect(merged == .int(numbers[2] + numbers[1] - numbers[0]))
    }
    let fraction = FieldMerge.merge(
      base: 1.5, client: 2.0, server: 4.25, clientIsLater: false, rule: .counter)
    #expect(fraction == .double(4.75))
  }

  @Test("A counter that one side cleared takes the server's value")
  func clearedCounter() {
    #expect(FieldMerge.merge(base: 1, client: .null, server: 3, clientIsLater: true, rule: .counter) == 3)
    #expect(FieldMerge.merge(base: 1, client: 3, server: .null, clientIsLater: true, rule: .counter) == .null)
  }

  @Test("A list keeps what either side added and loses what either side removed")
  func union() {
    Self.eachWorld(Self.lists) { base, client, server, later in
      let merged = FieldMerge.merge(
        base: base, client: client, server: server, clientIsLater: later, rule: .setUnion)
      let sets = [base, client, server].map { Set($0.arrayValue ?? []) }
      let expected = sets[2].subtracting(sets[0].subtracting(sets[1])).union(sets[1].subtracting(sets[0]))
      #expect(Set(merged.arrayValue ?? []) == expected, "\(base), \(client), \(server)")
      #expect((merged.arrayValue ?? []).count == expected.count)
    }
  }

  @Test("Both texts are kept, the server's first, unless one contains the other")
  func bothTexts() {
    Self.eachWorld(Self.texts) { base, client, server, later in
      let merged = FieldMerge.merge(
        base: base, client: client, server: server, clientIsLater: later, rule: .keepBoth)
      guard client != base, server != base, let mine = client.stringValue, let theirs = server.stringValue
      else {
        #expect(merged == (client == base ? server : server == base ? client : server))
        return
      }
      #expect(merged.stringValue?.contains(mine) ?? false)
      #expect(merged.stringValue?.hasPrefix(theirs) ?? false || mine.contains(theirs))
    }
  }

  @Test(
    "Two devices end with the same value, whichever syncs first",
    arguments: [FieldMergeRule.max, .counter, .setUnion])
  func orderIndependence(rule: FieldMergeRule) {
    let domain: [JSONValue] = rule == .setUnion ? [[], [1], [2], [1, 2], [2, 3]] : [0, 1, 2, 5]
    for base in domain {
      for one in domain {
        for other in domain {
          // The device that syncs first finds the base on the server.
          let first = FieldMerge.merge(
            base: base, client: other, server: one, clientIsLater: false, rule: rule)
          let second = FieldMerge.merge(
            base: base, client: one, server: other, clientIsLater: true, rule: rule)
          if rule == .setUnion {
            #expect(Set(first.arrayValue ?? []) == Set(second.arrayValue ?? []))
          } else {
            #expect(first == second, "\(rule): \(base), \(one), \(other)")
          }
        }
      }
    }
  }

  @Test("Fields of either, both or neither side are merged, absent ones as null")
  func wholeRecords() {
    let merged = FieldMerge.merge(
      base: ["a": 1, "b": 1, "c": 1], client: ["a": 2, "b": 1, "d": 4],
      server: ["a": 1, "b": 3, "c": 1, "e": 5],
      clientIsLater: false
    ) { _ in .remote }
    #expect(merged == ["a": 2, "b": 3, "d": 4, "e": 5])
  }
}
