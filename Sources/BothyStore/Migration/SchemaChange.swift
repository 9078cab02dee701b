/// The difference between two schemas: the additive changes, which run automatically, and those that need a declared
/// step. Pure.
struct SchemaChange {
  var newTypes: [TypeSchema] = []
  var newFields: [(type: TypeSchema, field: FieldSchema)] = []
  /// Fields that became required and have a default, which rows without a value receive.
  var newlyRequired: [(type: TypeSchema, field: FieldSchema)] = []
  /// Types whose indexes or full-text options differ and are rebuilt.
  var reindexed: [TypeSchema] = []
  /// Lists of references that refer to another type now, or that became JSON.
  var relinked: [(type: TypeSchema, field: FieldSchema)] = []
  /// The differences that no automatic change covers, as sentences.
  var problems: [String] = []

  /// Compares `old`, after the declared steps, with `new`.
  init(from old: StoreSchema, to new: StoreSchema) {
    for type in new.types {
      guard let before = old[type.name] else {
        newTypes.append(type)
        continue
      }
      compare(before, type)
    }
    for type in old.types where new[type.name] == nil {
      problems.append(
        "The type \(type.name) is stored but no longer declared; drop it with a `.dropType` step, or rename it "
          + "with `.renameType`.")
    }
  }

  private mutating func compare(_ old: TypeSchema, _ new: TypeSchema) {
    if old.isSynced != new.isSynced {
      problems.append("\(new.name) can't change between synced and local-only; declare a new type.")
    }
    if old.isSynced && old.wireName != new.wireName {
      problems.append(
        "\(new.name) was called '\(old.wireName)' on the wire and is called '\(new.wireName)' now, so its records on the "
          + "server belong to another type; say `wire: \"\(old.wireName)\"`.")
    }
    for field in new.fields {
      guard let before = old[field.name] else {
        if field.isOptional || field.defaultValue != nil {
          newFields.append((new, field))
        } else {
          problems.append("The new field \(new.name).\(field.name) must be optional or have a default.")
        }
        continue
      }
      if old.isSynced && !([field.wireName] + field.aliases).contains(before.wireName) {
        problems.append(
          "\(new.name).\(field.name) was called '\(before.wireName)' on the wire and is called '\(field.wireName)' "
            + "now, so records on the server lose it; say `wire: \"\(before.wireName)\"`, or add "
            + "'\(before.wireName)' to its aliases.")
      }
      if before.isSensitive != field.isSensitive {
        problems.append(
          field.isSensitive
            ? "\(new.name).\(field.name) became sensitive; declare a `.makeSensitive` step, which moves its values out "
              + "of the rows."
            : "\(new.name).\(field.name) was sensitive; drop it with a `.dropField` step and declare a new field."
        )
      }
      if before.kind.listTarget != field.kind.listTarget { relinked.append((new, field)) }
      if !before.isReadable(as: field, isSynced: old.isSynced) {
        problems.append(
          "\(new.name).\(field.name) changed from \(before.kindName) to \(field.kindName); "
            + "declare a `.convertField` step.")
      } else if before.isOptional && !field.isOptional {
        if field.defaultValue != nil {
          newlyRequired.append((new, field))
        } else {
          problems.append("\(new.name).\(field.name) became required; give it a default.")
        }
      }
    }
    for field in old.fields where new[field.name] == nil {
      problems.append(
        "The field \(new.name).\(field.name) is stored but no longer declared; drop it with a `.dropField` step, "
          + "or rename it with `.renameField`.")
    }
    if Self.indexing(old) != Self.indexing(new) { reindexed.append(new) }
  }

  private static func indexing(_ type: TypeSchema) -> [String] {
    type.fields.map {
      "\($0.name) \($0.kind.name) \($0.isIndexed) \($0.isUnique) \($0.isFullText) \($0.isNatural)"
    }.sorted()
      + type.indexes.map { "\($0.isUnique) \($0.description)" }.sorted()
  }
}

extension FieldSchema {
  /// True if every stored value of the field is also one of the other field, unchanged. A text isn't a decimal.
  fileprivate func isReadable(as other: FieldSchema, isSynced: Bool) -> Bool {
    isDecimal == other.isDecimal && kind.isReadable(as: other.kind, isSynced: isSynced)
  }
}

extension ValueKind {
  /// True if every stored value of this kind is also a value of the other kind, unchanged. For a synced type also the
  /// server's, which has `true` and not 1.
  fileprivate func isReadable(as other: ValueKind, isSynced: Bool) -> Bool {
    switch (name, other.name) {
    case (let old, let new) where old == new: true
    case ("uuid", "string"), ("reference", "string"), ("string", "reference"), ("uuid", "reference"),
      ("date", "int"), ("blob", "json"), ("references", "json"):
      true
    case ("bool", "int"): !isSynced
    default: false
    }
  }

  /// The type that a list of references refers to, or nil for another kind.
  fileprivate var listTarget: String? { if case .references(let type, _) = self { type } else { nil } }
}
