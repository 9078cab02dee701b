import BothyStore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct DeleteRuleTests {
  /// Creates a store of two types: Node with a reference and a list of references to Node under `rule`, and Leaf.
  private func store(_ rule: FieldKind.DeleteRule) throws -> LocalStore {
    try LocalStore(
      inMemory: StoreSchema(types: [
        TypeSchema(
          "Node",
          fields: [
            FieldSchema("parent", .reference(to: "Node", onDelete: rule), optional: true),
            FieldSchema("friends", .references(to: "Node", onDelete: rule), default: .list([])),
          ])
      ]))
  }

  private func insert(_ nodes: [(id: String, parent: String?, friends: [String])], into store: LocalStore)
    throws
  {
    try store.write { transaction in
      for node in nodes {
        let parent = node.parent.map { FieldValue.text($0) } ?? .null
        try transaction.insert(
          AnyRecord("Node", id: node.id, ["parent": parent, "friends": .list(node.friends)]))
      }
    }
  }

  private func delete(_ id: String, from store: LocalStore) throws {
    try store.write { _ = try $0.delete(RecordID(type: "Node", id: id)) }
  }

  private func node(_ id: String, in store: LocalStore) throws -> AnyRecord? {
    try store.record(RecordID(type: "Node", id: id))
  }

  private func nodeCount(_ store: LocalStore) throws -> Int64 { try store.count("SELECT count(*) FROM Node") }

  @Test("Cascade deletes records that refer by a field or a list, at any depth")
  func cascade() throws {
    let store = try store(.cascade)
    try insert(
      [("a", nil, []), ("b", "a", []), ("c", nil, ["x", "b"]), ("d", "c", []), ("e", nil, ["x"])], into: store
    )
    try delete("a", from: store)
    #expect(try nodeCount(store) == 1)
    #expect(try node("e", in: store) != nil)
    #expect(try store.count("SELECT count(*) FROM bothy_link") == 1)
  }

  @Test("Cascade follows a cycle once")
  func cycles() throws {
    let store = try store(.cascade)
    try insert([("a", "c", []), ("b", "a", ["b"]), ("c", "b", ["a"]), ("self", "self", [])], into: store)
    try delete("b", from: store)
    #expect(try nodeCount(store) == 1)
    try delete("self", from: store)
    #expect(try nodeCount(store) == 0)
    #expect(try store.count("SELECT count(*) FROM bothy_link") == 0)
  }

  @Test("Nullify clears references and removes the id anywhere in lists")
  func nullify() throws {
    let store = try store(.nullify)
    try insert(
      [("a", nil, []), ("b", "a", ["x", "a", "y", "a"]), ("c", "b", ["a"]), ("self", "self", ["self"])],
      into: store)
    try delete("a", from: store)
    #expect(try node("b", in: store)?["parent"] == .null)
    #expect(try node("b", in: store)?["friends"] == .list(["x", "y"]))
    #expect(try node("c", in: store)?["parent"] == "b")
    #expect(try node("c", in: store)?["friends"] == .list([]))
    try delete("self", from: store)
    #expect(try node("self", in: store) == nil)
  }

  @Test("Nullify leaves a reference to an id in another spelling")
  func spellings() throws {
    let store = try store(.nullify)
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    try insert(
      [(composed, nil, []), (decomposed, nil, []), ("c", nil, [composed, decomposed])], into: store)
    try delete(composed, from: store)
    #expect(try node("c", in: store)?["friends"] == .list([decomposed]))
  }

  @Test("Deny refuses the deletion of a referenced record and changes nothing")
  func deny() throws {
    let store = try store(.deny)
    try insert([("a", nil, []), ("b", "a", []), ("c", nil, ["b"])], into: store)
    expect(.denied) { try delete("a", from: store) }
    expect(.denied) { try delete("b", from: store) }
    #expect(try nodeCount(store) == 3)
    try delete("c", from: store)
    try delete("b", from: store)
    try delete("a", from: store)
    #expect(try nodeCount(store) == 0)
  }

  @Test("A referring record that denies doesn't prevent a deletion that includes it")
  func denyWithin() throws {
    let store = try store(.deny)
    try insert([("self", "self", ["self"])], into: store)
    try delete("self", from: store)
    #expect(try nodeCount(store) == 0)
  }

  @Test("A denial deep in a cascade changes nothing")
  func mixed() throws {
    let store = try LocalStore(
      inMemory: StoreSchema(types: [
        TypeSchema("A", fields: []),
        TypeSchema("B", fields: [FieldSchema("a", .reference(to: "A", onDelete: .cascade))]),
        TypeSchema("C", fields: [FieldSchema("b", .reference(to: "B", onDelete: .deny))]),
      ]))
    try store.write { transaction in
      try transaction.insert(AnyRecord("A", id: "1"))
      try transaction.insert(AnyRecord("B", id: "1", ["a": "1"]))
      try transaction.insert(AnyRecord("C", id: "1", ["b": "1"]))
    }
    expect(.denied) { try store.write { _ = try $0.delete(RecordID(type: "A", id: "1")) } }
    for type in ["A", "B", "C"] { #expect(try store.record(RecordID(type: type, id: "1")) != nil) }
  }

  @Test("A record of another type with an equal id isn't the target")
  func sameIDs() throws {
    let store = try LocalStore(
      inMemory: StoreSchema(types: [
        TypeSchema("A", fields: []), TypeSchema("B", fields: []),
        TypeSchema("C", fields: [FieldSchema("list", .references(to: "A", onDelete: .cascade))]),
      ]))
    try store.write { transaction in
      for type in ["A", "B"] { try transaction.insert(AnyRecord(type, id: "1")) }
      try transaction.insert(AnyRecord("C", id: "c", ["list": .list(["1"])]))
      try transaction.delete(RecordID(type: "B", id: "1"))
      #expect(try transaction.exists(RecordID(type: "C", id: "c")))
      try transaction.delete(RecordID(type: "A", id: "1"))
      #expect(try !transaction.exists(RecordID(type: "C", id: "c")))
    }
  }
}
