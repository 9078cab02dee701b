import SwiftSyntax

/// A struct marked `@Entity`, with the parts that the expansion needs. Reads the struct and the attribute.
/// `EntityDeclaration+Properties.swift` reads the properties.
struct EntityDeclaration {
  let typeName: String
  let structName: String
  let arguments: EntityArguments
  let access: AccessLevel
  /// Stored properties without the id, in their order.
  var properties: [EntityProperty] = []
  /// The id that the struct declares itself.
  var declaredID: EntityProperty?
  /// The position of the id among the properties, or 0 if the struct doesn't declare it.
  var idPosition = 0
  /// True if the struct has an initialiser in its body, which by Swift's rule replaces the memberwise one.
  let hasInitialiser: Bool
  /// The `@available` attributes of the struct and of the types that enclose it.
  let availability: [AttributeSyntax]

  var fields: [EntityProperty] { properties.filter { !$0.isTransient } }

  init?(
    _ node: AttributeSyntax, _ declaration: some DeclGroupSyntax, _ lexicalContext: [Syntax],
    problems: inout Problems
  ) {
    guard let structure = declaration.as(StructDeclSyntax.self) else {
      problems.add(.notAStruct(kind: declaration.introducer.text), at: node)
      return nil
    }
    let enclosing = lexicalContext.first {
      $0.asProtocol((any WithGenericParametersSyntax).self)?.isGeneric == true
    }
    if let generics = structure.genericParameterClause {
      problems.add(.generic, at: generics)
      return nil
    } else if enclosing != nil {
      problems.add(.generic, at: structure.name)
      return nil
    }
    if let modifier = structure.modifiers.first(where: { $0.name.tokenKind == .keyword(.private) }),
      !lexicalContext.isEmpty
    {
      let visible = modifier.with(\.name.tokenKind, .keyword(.fileprivate))
      problems.add(.privateNested, at: modifier, fixIts: [.replace(modifier, with: visible)])
      return nil
    }
    guard let arguments = EntityArguments(node, problems: &problems) else { return nil }
    self.arguments = arguments
    structName = structure.name.plainText
    typeName = arguments.name ?? structName
    access = AccessLevel(structure.modifiers) ?? AccessLevel(extending: lexicalContext.first) ?? .internal
    hasInitialiser = structure.memberBlock.members.contains { $0.decl.is(InitializerDeclSyntax.self) }
    availability =
      structure.attributes.availability
      + lexicalContext.flatMap {
        $0.asProtocol((any WithAttributesSyntax).self)?.attributes.availability ?? []
      }
    if arguments.name == nil, !typeName.isSchemaName {
      problems.add(.invalidTypeName(typeName), at: structure.name)
    }
    readProperties(of: structure, problems: &problems)
  }
}

/// The visibility of a declaration, reduced to the levels that matter to generated members.
enum AccessLevel: Int, Comparable {
  case `private`, `fileprivate`, `internal`, `package`, `public`

  init?(_ modifiers: DeclModifierListSyntax) {
    for modifier in modifiers where modifier.detail == nil {
      switch modifier.name.tokenKind {
      case .keyword(.private): self = .private
      case .keyword(.fileprivate): self = .fileprivate
      case .keyword(.internal): self = .internal
      case .keyword(.package): self = .package
      case .keyword(.public), .keyword(.open): self = .public
      default: continue
      }
      return
    }
    return nil
  }

  /// Creates the level that `public extension` gives to its members.
  init?(extending context: Syntax?) {
    guard let modifiers = context?.as(ExtensionDeclSyntax.self)?.modifiers, let level = AccessLevel(modifiers)
    else { return nil }
    self = level
  }

  static func < (left: AccessLevel, right: AccessLevel) -> Bool { left.rawValue < right.rawValue }

  /// The modifier before a member. Empty if it equals Swift's default.
  var modifier: String {
    switch self {
    case .public: "public "
    case .package: "package "
    case .internal, .fileprivate, .private: ""
    }
  }
}

extension WithGenericParametersSyntax {
  fileprivate var isGeneric: Bool { genericParameterClause != nil }
}

extension AttributeListSyntax {
  fileprivate var availability: [AttributeSyntax] {
    compactMap { $0.as(AttributeSyntax.self) }.filter { $0.plainName == "available" }
  }
}

extension AttributeSyntax {
  /// The attribute's name without its module: `Indexed` for `@Bothy.Indexed`.
  var plainName: String {
    attributeName.as(IdentifierTypeSyntax.self)?.name.text
      ?? attributeName.as(MemberTypeSyntax.self)?.name.text ?? attributeName.trimmedDescription
  }
}

extension TokenSyntax {
  /// The identifier without backticks.
  var plainText: String {
    text.hasPrefix("`") && text.hasSuffix("`") && text.count > 2 ? String(text.dropFirst().dropLast()) : text
  }
}

extension String {
  /// True if the store accepts the text as the name of a type or a field, by the rule of `StoreSchema.validate`.
  var isSchemaName: Bool {
    let bytes = utf8.enumerated().allSatisfy { index, byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): index > 0
      default: false
      }
    }
    let isTaken = lowercased().hasPrefix("bothy") || lowercased() == "rowid"
    return bytes && !isEmpty && utf8.count <= 64 && !isTaken
  }
}
