/// The mapping between a schema's local names of types and fields and those of the wire. It is one to one, so that
/// nothing is lost, whatever names others use.
///
/// A wire name that this schema uses for something else is written with a colon before it. No declared name has one.
package struct WireNames: Sendable {
  private let types: NameMap
  /// The fields by the type's local name.
  private let fields: [String: NameMap]
  /// True if every name is equal on both sides.
  package let isPlain: Bool

  package init(_ schema: StoreSchema) {
    let synced = schema.types.filter(\.isSynced)
    types = NameMap(synced.map { ($0.name, $0.wireName) })
    let maps = synced.map { ($0.name, NameMap($0)) }.filter { !$0.1.isPlain }
    fields = Dictionary(maps, uniquingKeysWith: { first, _ in first })
    isPlain = types.isPlain && fields.isEmpty
  }

  package func wire(type: String) -> String { types.wire(type) }
  package func local(type: String) -> String { types.local(type) }

  package func wire(_ id: RecordID) -> RecordID { RecordID(type: types.wire(id.type), id: id.id) }
  package func local(_ id: RecordID) -> RecordID { RecordID(type: types.local(id.type), id: id.id) }

  /// Returns the fields of a type by its local name, or nil if all names are equal.
  package func fields(of type: String) -> NameMap? { fields[type] }

  /// Returns the wire name of a container. A type's own container has the type's name.
  package func wire(container: String) -> String { types.wire(container) }
  package func local(container: String) -> String { types.local(container) }

  /// Returns the local name of the container that any name denotes. The former name of a renamed type still denotes the
  /// type's own container, which has that name on the wire.
  package func present(container: String) -> String {
    isPlain ? container : local(container: wire(container: container))
  }
}

/// The names of one type's fields, or of all types, on both sides.
package struct NameMap: Sendable, Equatable {
  private var toWire: [String: String] = [:]
  private var toLocal: [String: String] = [:]

  package init(_ type: TypeSchema) { self.init(type.fields.map { ($0.name, $0.wireName) }) }

  package init(_ names: [(local: String, wire: String)]) {
    for (local, wire) in names {
      toWire[local] = wire
      toLocal[wire] = local
    }
  }

  package var isPlain: Bool { toWire.allSatisfy { $0.key == $0.value } }

  package func wire(_ name: String) -> String {
    if let wire = toWire[name] { return wire }
    return name.hasPrefix(":") ? String(name.dropFirst()) : name
  }

  package func local(_ name: String) -> String {
    if let local = toLocal[name] { return local }
    return toWire[name] != nil || name.hasPrefix(":") ? ":" + name : name
  }

  /// True if each name of the wire is called here as in another schema, so that nothing has to be renamed. A further field
  /// that has one name on both sides changes none.
  package func hasNames(of other: NameMap) -> Bool {
    [toLocal, toWire, other.toLocal, other.toWire].allSatisfy { names in
      names.keys.allSatisfy { local($0) == other.local($0) }
    }
  }

  /// Returns members that have the names of another schema with the names of this one.
  package func local(_ members: [String: JSONValue], of other: NameMap) -> [String: JSONValue] {
    Dictionary(
      members.map { (local(other.wire($0.key)), $0.value) }, uniquingKeysWith: { first, _ in first })
  }
}

extension StoreSchema {
  /// Returns the schema with the wire names that its declared renames imply. A field keeps its first name, and later
  /// names become aliases, unless an earlier field had them. Explicitly declared names take precedence.
  ///
  /// A new file and one that runs the steps get equal names and so interoperate. A store does it by itself. Pass a
  /// server the schema of `StoreSchema(…).naming(by: migrations)`. Pure.
  public func naming(by steps: [Migration]) -> StoreSchema {
    // The names are followed back from the last step to the first.
    let steps: [Migration.Step] = steps.filter { $0.version <= version }.sorted { $0.version < $1.version }
      .map(\.step).reversed()
    guard !steps.isEmpty else { return self }
    var named = self
    for (index, type) in types.enumerated() where type.isSynced {
      let former = Self.formerTypeNames(type.name, steps)
      if let first = former.last, type.wire == nil { named.types[index].wire = first }
      for (position, field) in type.fields.enumerated() {
        let (former, taken) = Self.formerNames(of: field.name, type.name, steps)
        guard let first = former.last, field.wire == nil else { continue }
        named.types[index].fields[position].wire = first
        let others = Set(type.fields.flatMap { [$0.wireName] + $0.aliases }).subtracting([field.name])
        let between = [field.name] + former.dropLast()
        named.types[index].fields[position].aliases += between.filter {
          $0 != first && !taken.contains($0) && !others.contains($0) && !field.aliases.contains($0)
        }
      }
    }
    return named
  }

  /// Returns the names that the type had before, the latest first.
  ///
  /// - Parameter steps: the steps, the latest first.
  private static func formerTypeNames(_ type: String, _ steps: [Migration.Step]) -> [String] {
    var names = [type]
    for step in steps {
      switch step {
      case .renameType(let from, let to) where to == names.last: names.append(from)
      case .renameType(let from, _) where from == names.last: return Array(names.dropFirst())
      case .dropType(let gone) where gone == names.last: return Array(names.dropFirst())
      default: break
      }
    }
    return Array(names.dropFirst())
  }

  /// Returns the names that the field had before, the latest first. `taken` are the names that earlier fields had, whose
  /// values records on the server may still have.
  ///
  /// - Parameter steps: the steps, the latest first.
  private static func formerNames(
    of field: String, _ type: String, _ steps: [Migration.Step]
  ) -> (names: [String], taken: Set<String>) {
    var (type, names, taken) = (type, [field], Set<String>())
    for step in steps {
      switch step {
      case .renameType(let from, let to) where to == type: type = from
      case .renameField(type, let from, let to) where to == names.last: names.append(from)
      case .renameField(type, names.last, _), .dropField(type, names.last):
        return (Array(names.dropFirst()), taken)
      case .renameField(type, let earlier, _), .dropField(type, let earlier): taken.insert(earlier)
      default: break
      }
    }
    return (Array(names.dropFirst()), taken)
  }

  /// Returns the schema with the wire names of the stored schema for its types and fields that declare none.
  package func inheriting(from stored: StoreSchema) -> StoreSchema {
    var named = self
    for (index, type) in types.enumerated() {
      guard type.isSynced, let before = stored[type.name] else { continue }
      if type.wire == nil { named.types[index].wire = before.wire }
      for (position, field) in type.fields.enumerated() where field.wire == nil {
        guard let known = before[field.name], known.wire != nil else { continue }
        named.types[index].fields[position].wire = known.wire
        named.types[index].fields[position].aliases += known.aliases.filter { !field.aliases.contains($0) }
      }
    }
    return named
  }

  /// The schema in the form of the wire, with each type and field called by its wire name. A server checks against it.
  package var asOnTheWire: StoreSchema {
    let names = WireNames(self)
    var schema = self
    for (index, type) in types.enumerated() where type.isSynced {
      schema.types[index].permissions = type.permissions?.onTheWire(type, self, names)
      schema.types[index].name = type.wireName
      schema.types[index].wire = nil
      for (position, field) in type.fields.enumerated() {
        schema.types[index].fields[position].name = field.wireName
        schema.types[index].fields[position].wire = nil
        schema.types[index].fields[position].kind = field.kind.referring { names.wire(type: $0) }
      }
      schema.types[index].indexes = type.indexes.map { $0.onTheWire(type) }
      // A server has indexes of single fields alone, so a search uses that of the first field.
      for field in type.indexes.compactMap(\.fields.first) {
        guard let position = type.index(of: field) else { continue }
        schema.types[index].fields[position].isIndexed = true
      }
    }
    return schema
  }

  /// Throws `invalidSchema` if two types, or two fields of one type, have the same name on the wire.
  func checkWireNames() throws(BothyError) {
    var owners: [String: String] = [:]
    for type in types where type.isSynced {
      if let wire = type.wire { try Self.check(name: wire, of: "type on the wire") }
      if let other = owners.updateValue(type.name, forKey: type.wireName) {
        throw .invalidSchema(
          "The types '\(other)' and '\(type.name)' are both '\(type.wireName)' on the wire. Give one another 'wire'."
        )
      }
      try type.checkWireNames()
    }
  }
}

extension IndexSchema {
  /// Returns the index with wire names. A condition that can't be read stays as it is.
  fileprivate func onTheWire(_ type: TypeSchema) -> IndexSchema {
    func wire(_ name: String) -> String { type[name]?.wireName ?? name }
    // The check of the schema reports a condition that can't be read.
    let tree = condition.flatMap { try? WhereParser.parse($0) }
    return IndexSchema(
      fields.map(wire), unique: isUnique, where: tree?.renamingFields(wire).description ?? condition)
  }
}

extension TypeSchema {
  fileprivate func checkWireNames() throws(BothyError) {
    var owners: [String: String] = [:]
    for field in fields {
      for name in [field.wireName] + field.aliases {
        if name != field.name { try StoreSchema.check(name: name, of: "field of \(self.name) on the wire") }
        if name == "id" {
          throw .invalidSchema(
            "\(self.name).\(field.name) can't be 'id' on the wire: that is the record's own.")
        }
        guard let other = owners.updateValue(field.name, forKey: name) else { continue }
        throw .invalidSchema(
          "\(self.name).\(other) and \(self.name).\(field.name) both have the name '\(name)' on the wire. "
            + "Give one another 'wire', or take the name from its 'aliases'.")
      }
    }
  }
}

extension ValueKind {
  func referring(_ rename: (String) -> String) -> ValueKind {
    switch self {
    case .reference(let type, let rule): .reference(to: rename(type), onDelete: rule)
    case .references(let type, let rule): .references(to: rename(type), onDelete: rule)
    default: self
    }
  }
}
