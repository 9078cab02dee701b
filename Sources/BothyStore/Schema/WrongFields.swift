// Types that are likely to be declared as fields and can't be, answered by the compiler with what to declare.
// No symbol here is ever called.

extension FieldMergeRule {
  @available(*, unavailable, renamed: "remote")
  public static var server: FieldMergeRule { .remote }
  @available(*, unavailable, renamed: "local")
  public static var client: FieldMergeRule { .local }
}

extension FieldSchema {
  @available(
    *, unavailable,
    message: "A record isn't stored in another. Declare a `Reference` to it, and fetch both with `.with(_:)`."
  )
  public static func field<E: Entity>(
    _ name: String, _ type: E.Type, default: E? = nil, onDelete: FieldKind.DeleteRule = .nullify
  ) -> FieldSchema { FieldSchema(name, .text) }
  @available(
    *, unavailable,
    message: "A record isn't stored in another. Declare a `Reference` to it, and fetch both with `.with(_:)`."
  )
  public static func field<E: Entity>(
    _ name: String, _ type: E?.Type, default: E? = nil, onDelete: FieldKind.DeleteRule = .nullify
  ) -> FieldSchema { FieldSchema(name, .text) }
  @available(
    *, unavailable, message: "Let the enum be a field: `enum Kind: String, FieldConvertible`."
  )
  public static func field<K: RawRepresentable>(
    _ name: String, _ type: K.Type, default: K? = nil, indexed: Bool = false, unique: Bool = false,
    fullText: Bool = false, merge: FieldMergeRule = .remote, onDelete: FieldKind.DeleteRule = .nullify,
    sensitive: Bool = false, wire: String? = nil, aliases: [String] = []
  ) -> FieldSchema { FieldSchema(name, .text) }
  @available(
    *, unavailable, message: "Let the enum be a field: `enum Kind: String, FieldConvertible`."
  )
  public static func field<K: RawRepresentable>(
    _ name: String, _ type: K?.Type, default: K? = nil, indexed: Bool = false, unique: Bool = false,
    fullText: Bool = false, merge: FieldMergeRule = .remote, onDelete: FieldKind.DeleteRule = .nullify,
    sensitive: Bool = false, wire: String? = nil, aliases: [String] = []
  ) -> FieldSchema { FieldSchema(name, .text) }
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "Use `Double`, `Int` or `Decimal` for numbers, `FieldConvertible` for an enum, `JSONField` for a struct."
  )
  public static func field<T>(
    _ name: String, _ type: T.Type, default: T? = nil, indexed: Bool = false, unique: Bool = false,
    fullText: Bool = false, merge: FieldMergeRule = .remote, onDelete: FieldKind.DeleteRule = .nullify,
    sensitive: Bool = false, wire: String? = nil, aliases: [String] = []
  ) -> FieldSchema { FieldSchema(name, .text) }
}
