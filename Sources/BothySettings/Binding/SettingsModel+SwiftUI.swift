#if canImport(SwiftUI)
  public import SwiftUI

  extension SettingsModel {
    /// One property for a control: `Toggle("24 hours", isOn: model.binding(\.uses24Hours))`.
    ///
    /// Setting it commits the value. If the commit is refused, the control returns to the stored value.
    public func binding<Value: Sendable>(
      _ property: any WritableKeyPath<Group, Value> & Sendable
    ) -> Binding<Value> {
      Binding { @MainActor in
        self.value[keyPath: property]
      } set: { @MainActor value in
        self.commit { $0[keyPath: property] = value }
      }
    }
  }
#endif
