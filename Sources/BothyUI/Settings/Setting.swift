#if canImport(SwiftUI)
  public import BothySettings
  public import SwiftUI

  /// A property of a settings group for a control.
  ///
  /// ```swift
  /// struct ReadingView: View {
  ///   @Setting(\ReadingSettings.fontSize) private var fontSize
  ///
  ///   var body: some View { Stepper("Size \(fontSize)", value: $fontSize) }
  /// }
  /// ```
  ///
  /// Reads memory. The view is updated after each change, also by other processes. Setting it through the projected value
  /// commits on the main thread. If the group rejects the value, the control returns to the stored one.
  @MainActor @propertyWrapper
  public struct Setting<Group: HostedSettingsGroup, Value: Sendable>: DynamicProperty {
    @State private var model = SettingsModel<Group>(Group.settings)
    private let property: any WritableKeyPath<Group, Value> & Sendable

    /// Shows a property of a group that names its container. Reads the group, which is I/O if the process hasn't read
    /// it yet.
    public init(_ property: any WritableKeyPath<Group, Value> & Sendable) { self.property = property }

    /// The value as the view shows it.
    ///
    /// Setting it commits the whole group in one transaction on the main thread. A commit that is rejected changes
    /// nothing.
    public var wrappedValue: Value {
      get { model.value[keyPath: property] }
      nonmutating set { model.update { $0[keyPath: property] = newValue } }
    }

    /// A binding for a control: `Toggle("24 hours", isOn: $uses24Hours)`.
    public var projectedValue: Binding<Value> { model.binding(property) }

    /// Begins the observation, or continues it. SwiftUI calls it before it reads the view's body.
    public nonisolated func update() { MainActor.assumeIsolated { model.show() } }
  }

  extension SettingsModel {
    /// Returns a binding of one property. Setting it commits the value. If the group rejects it, the control returns to the
    /// stored value.
    func binding<Value: Sendable>(
      _ property: any WritableKeyPath<Group, Value> & Sendable
    ) -> Binding<Value> {
      Binding { @MainActor in
        self.value[keyPath: property]
      } set: { @MainActor value in
        self.update { $0[keyPath: property] = value }
      }
    }
  }
#endif
