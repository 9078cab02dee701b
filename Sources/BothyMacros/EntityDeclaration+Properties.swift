import SwiftSyntax

/// Reads the stored properties of the struct. `EntityDeclaration+Checks.swift` checks them.
extension EntityDeclaration {
  mutating func readProperties(of structure: StructDeclSyntax, problems: inout Problems) {
    for member in structure.memberBlock.members {
      if let conditional = member.decl.as(IfConfigDeclSyntax.self) {
        if conditional.holdsStoredProperty { problems.add(.conditional, at: conditional) }
      } else if let variable = member.decl.as(VariableDeclSyntax.self) {
        read(variable, problems: &problems)
      }
    }
    var names: Set<String> = []
    for field in fields where !names.insert(field.fieldName.lowercased()).inserted {
      problems.add(.duplicate(field.fieldName), at: field.name)
    }
    for field in fields {
      for other in field.options.indexes.flatMap(\.others) {
        guard let name = other.literalText else { continue }
        let isKnown = name != field.fieldName && fields.contains { $0.fieldName == name }
        if !isKnown { problems.add(.indexedName(name), at: other) }
      }
    }
  }

  private mutating func read(_ variable: VariableDeclSyntax, problems: inout Problems) {
    let bindings = Array(variable.bindings)
    guard !variable.isStatic, !bindings.contains(where: \.isComputed) else {
      if !variable.isStatic, variable.declaresID { problems.add(.idComputed, at: variable) }
      for marker in variable.attributes.fieldMarkers {
        problems.add(.notStored(option: marker.plainName), at: marker)
      }
      return
    }
    let options = FieldOptions(variable.attributes, problems: &problems)
    for (index, binding) in bindings.enumerated() {
      guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else {
        problems.add(.pattern, at: binding.pattern)
        continue
      }
      // In `var x, y: Int` the type follows the last name.
      let type =
        binding.typeAnnotation?.type
        ?? (binding.initializer == nil
          ? bindings[index...].lazy.compactMap(\.typeAnnotation?.type).first : nil)
      let property = EntityProperty(
        name: pattern.identifier,
        type: type?.trimmed ?? binding.initializer?.value.literalType,
        initialValue: binding.initializer?.value.trimmed,
        isLet: variable.bindingSpecifier.tokenKind == .keyword(.let),
        isLazy: variable.modifiers.contains { $0.name.tokenKind == .keyword(.lazy) },
        access: AccessLevel(variable.modifiers) ?? .internal, options: options)
      if property.name.plainText == "id" {
        check(id: property, variable, binding, problems: &problems)
        declaredID = property
        idPosition = properties.count
      } else {
        check(property, variable, binding, problems: &problems)
        properties.append(property)
      }
    }
  }
}

extension VariableDeclSyntax {
  fileprivate var declaresID: Bool {
    bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier.plainText == "id"
  }

  fileprivate var isStatic: Bool {
    modifiers.contains { [.keyword(.static), .keyword(.class)].contains($0.name.tokenKind) }
  }
}

extension PatternBindingSyntax {
  /// True if the property has a getter and so no storage. `willSet` and `didSet` observe storage.
  fileprivate var isComputed: Bool {
    switch accessorBlock?.accessors {
    case nil: false
    case .getter: true
    case .accessors(let list):
      list.contains {
        ![.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind)
      }
    }
  }
}

extension IfConfigDeclSyntax {
  fileprivate var holdsStoredProperty: Bool {
    clauses.contains { clause in
      guard case .decls(let members)? = clause.elements else { return false }
      return members.contains { member in
        if let nested = member.decl.as(IfConfigDeclSyntax.self) { return nested.holdsStoredProperty }
        guard let variable = member.decl.as(VariableDeclSyntax.self) else { return false }
        return !variable.isStatic && !variable.bindings.contains(where: \.isComputed)
      }
    }
  }
}
